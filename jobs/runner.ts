import type { PgBoss } from 'pg-boss'
import type { AnyService } from '../core/plugin/index.ts'
import type { Job, JobPorts } from './index.ts'
import { pluginJobs } from './plugin-schedules.ts'

/** How late a job may come: by this part of its period, within bounds in seconds. */
const LATE = { part: 0.1, least: 2, most: 30 } as const

/** A run is taken for dead when its process has not been heard of for so long. */
const HEARD_SECONDS = 15
/** For pg-boss: how often the dead are looked for. A deadline alone would be waited for. */
export const LOOKS = { superviseIntervalSeconds: 10, monitorIntervalSeconds: 10 } as const

const limitsOf = ({ deadlineSeconds: expireInSeconds = 300 }: Job) =>
  ({ expireInSeconds, heartbeatSeconds: HEARD_SECONDS, retryLimit: 0 }) as const

/** Of each job one run is waiting or under way at a time; jobs may come and change meanwhile. */
export class Runner {
  readonly #boss: PgBoss
  readonly #ports: JobPorts
  readonly #stopping: AbortSignal
  readonly #jobs = new Map<string, Job>()

  constructor(boss: PgBoss, ports: JobPorts, stopping: AbortSignal) {
    this.#boss = boss
    this.#ports = ports
    this.#stopping = stopping
  }

  /** Runs it from now on; one that runs already, as it is from now on. */
  async put(name: string, job: Job): Promise<void> {
    const isKnown = this.#jobs.has(name)
    this.#jobs.set(name, job)
    if (isKnown) return
    const limits = limitsOf(job)
    const late = Math.min(job.everySeconds * LATE.part, LATE.most)
    const pollingIntervalSeconds = Math.max(late, LATE.least)
    await this.#boss.createQueue(name, { policy: 'stately', ...limits })
    await this.#boss.work(name, { pollingIntervalSeconds }, () => this.#run(name))
    await this.#boss.send(name, {}, limits)
    // Takes over when a process died in a run.
    await this.#boss.schedule(name, '*/5 * * * *', {}, limits)
  }

  /** Runs what a service declares that came, or changed, while the hub runs. */
  async sold(service: AnyService): Promise<void> {
    const jobs = pluginJobs({ services: [service], families: [] })
    for (const name of this.#jobs.keys()) {
      if (name.startsWith(`${service.slug}/`) && !(name in jobs)) this.#jobs.delete(name)
    }
    for (const [name, job] of Object.entries(jobs)) await this.put(name, job)
  }

  async #run(name: string): Promise<void> {
    const job = this.#jobs.get(name)
    if (!job) return this.#boss.unschedule(name)
    try {
      await job.run(this.#ports, this.#stopping)
    } catch (error) {
      this.#ports.log.error({ err: error, job: name }, 'a job failed')
    } finally {
      await this.#boss.send(name, {}, { startAfter: job.everySeconds, ...limitsOf(job) })
    }
  }
}
