import type { PgBoss } from 'pg-boss'
import { elapsedMs, pause } from '../core/clock.ts'
import { componentOf, logFailure, outagesOf } from '../core/outages.ts'
import type { AnyService } from '../core/plugin/index.ts'
import type { Job, JobDeps } from './job.ts'
import { JobRuns } from './job-runs.ts'
import { pluginJobs } from './plugin-jobs.ts'

/** Polling interval of a job: a share of its period, within bounds in seconds. */
const POLLING = { share: 0.1, minSeconds: 2, maxSeconds: 30 } as const

/** Pause before another attempt to queue the next run of a job. */
const RETRY_MS = 2_000
/** Attempts to read or write a queue at the start, which ends if all fail. */
const START_ATTEMPTS = 10
/** Time without a heartbeat after which a run counts as dead. */
const HEARTBEAT_SECONDS = 15
/**
 * pg-boss options: how often it looks for dead runs, which need not reach their deadline, and how
 * often it reads which queues have an active run. Until it has read that a dead run ended, it
 * fetches no other one of its queue: with its default of 60 s that took two minutes at worst.
 */
export const SUPERVISION = {
  superviseIntervalSeconds: 10,
  monitorIntervalSeconds: 10,
  queueCacheIntervalSeconds: 10,
} as const

const toQueueLimits = ({ deadlineSeconds: expireInSeconds = 300 }: Job) =>
  ({ expireInSeconds, heartbeatSeconds: HEARTBEAT_SECONDS, retryLimit: 0 }) as const

/** Runs each job at most once at a time. Jobs may be added and replaced while it runs. */
export class Runner {
  readonly #boss: PgBoss
  readonly #deps: JobDeps
  readonly #stopping: AbortSignal
  readonly #jobs = new Map<string, Job>()
  readonly #runs: JobRuns

  constructor(boss: PgBoss, deps: JobDeps, stopping: AbortSignal) {
    this.#boss = boss
    this.#deps = deps
    this.#stopping = stopping
    this.#runs = new JobRuns(deps.pool)
  }

  /** Adds jobs, or replaces those of the same names. */
  async put(jobs: Readonly<Record<string, Job>>): Promise<void> {
    const added = Object.entries(jobs).filter(([name]) => !this.#jobs.has(name))
    for (const [name, job] of Object.entries(jobs)) this.#jobs.set(name, job)
    if (added.length === 0) return
    const known = await this.#whileBusy('queues', () => this.#boss.getQueues())
    const queues = new Set(known.map(({ name }) => name))
    await Promise.all(added.map(([name, job]) => this.#work(name, job, queues.has(name))))
  }

  /** Replaces the jobs of a service that was added or changed while the hub runs. */
  async putService(service: AnyService): Promise<void> {
    const jobs = pluginJobs({ services: [service], families: [] })
    for (const name of this.#jobs.keys()) {
      if (name.startsWith(`${service.slug}/`) && !(name in jobs)) this.#jobs.delete(name)
    }
    await this.put(jobs)
  }

  async #work(name: string, job: Job, hasQueue: boolean): Promise<void> {
    const limits = toQueueLimits(job)
    const { share, minSeconds, maxSeconds } = POLLING
    const pollingIntervalSeconds = Math.max(
      minSeconds,
      Math.min(job.everySeconds * share, maxSeconds),
    )
    if (!hasQueue) {
      await this.#whileBusy(name, () =>
        this.#boss.createQueue(name, { policy: 'stately', ...limits }),
      )
    }
    await this.#boss.work(name, { pollingIntervalSeconds }, ([run]) => this.#run(name, run!.signal))
    await this.#whileBusy(name, () => this.#boss.send(name, {}, limits))
    // Restarts a job whose process died before it sent the next run.
    await this.#whileBusy(name, () => this.#boss.schedule(name, '*/5 * * * *', {}, limits))
  }

  /**
   * Repeats a query while the database is unavailable or too busy to accept it, as at the first
   * start on a slow machine. @throws the last error after `START_ATTEMPTS`
   */
  async #whileBusy<Result>(job: string, query: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await query()
      } catch (err) {
        const component = componentOf(err)
        const isLast = attempt === START_ATTEMPTS || this.#stopping.aborted
        if (component === undefined || isLast) throw err
        logFailure(this.#deps.log, 'warn', { err, component, job }, 'a job is not queued yet')
        await pause(RETRY_MS, this.#stopping)
      }
    }
  }

  /** @param lost aborts when another process may have started the job: this run must stop */
  async #run(name: string, lost: AbortSignal): Promise<void> {
    const job = this.#jobs.get(name)
    if (!job) return this.#boss.unschedule(name)
    const { log } = this.#deps
    const startedAt = elapsedMs()
    let ok = false
    try {
      await job.run(this.#deps, AbortSignal.any([this.#stopping, lost]))
      ok = true
      outagesOf(log).succeed(`job ${name}`)
    } catch (err) {
      const component = componentOf(err) ?? `job ${name}`
      logFailure(log, 'error', { err, component, job: name }, 'a job failed')
    } finally {
      await this.#runs.record(name, job, startedAt, ok)
      await this.#sendNext(name, job)
    }
  }

  /**
   * Queues the next run of a job, until the database accepts it: the schedule, which restarts jobs
   * of dead processes, would do so only after up to five minutes.
   */
  async #sendNext(name: string, job: Job): Promise<void> {
    const options = { startAfter: job.everySeconds, ...toQueueLimits(job) }
    while (!this.#stopping.aborted) {
      try {
        await this.#boss.send(name, {}, options)
        return
      } catch (err) {
        const fields = { err, component: componentOf(err) ?? 'database', job: name }
        logFailure(this.#deps.log, 'warn', fields, 'the next run of a job is not queued yet')
        await pause(RETRY_MS, this.#stopping)
      }
    }
  }
}
