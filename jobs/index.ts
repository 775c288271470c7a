import { PgBoss } from 'pg-boss'
import { withTimeout } from '../core/clock.ts'
import { runSubscribers } from '../core/ledger/outbox/run.ts'
import { logFailure } from '../core/outages.ts'
import type { JobDeps } from './job.ts'
import { jobs, networkJobs } from './jobs.ts'
import { pluginJobs } from './plugin-jobs.ts'
import { workQueues } from './queues.ts'
import { Runner, SUPERVISION } from './runner.ts'
import { createSubscribers, logLowBalance, workLowBalanceQueue } from './subscribers.ts'

/** Maximum time for pending runs and queue work to finish on stop. */
const STOP_MS = 10_000

/**
 * Starts jobs, queues and journal subscribers until stopped. Any number of processes may run them:
 * pg-boss keeps at most one run of each job queued or active. A failed run is logged and repeated;
 * running twice does no harm, because ledger keys make money operations idempotent.
 * @param url direct database URL of a login of `hub_jobs`, in which pg-boss manages its own schema
 */
export async function startJobs(url: string, deps: JobDeps): Promise<{ stop(): Promise<void> }> {
  const { pool, log, onLowBalance = logLowBalance(log) } = deps
  const boss = new PgBoss({
    connectionString: url,
    application_name: 'agenthub jobs',
    max: 4,
    options: '-c role=hub_jobs',
    createSchema: false,
    ...SUPERVISION,
  })
  boss.on('error', (err) => {
    logFailure(log, 'warn', { err: withoutQueue(err) }, 'the job queue reported an error')
  })
  const stopping = new AbortController()
  await using scope = new AsyncDisposableStack()
  scope.defer(() => boss.stop({ graceful: true, timeout: STOP_MS }))
  scope.defer(() => stopping.abort())
  await boss.start()
  const runner = new Runner(boss, deps, stopping.signal)
  const ofNetworks = deps.networks && deps.networks.length > 0 ? networkJobs : {}
  await runner.put({ ...jobs, ...ofNetworks, ...pluginJobs(deps) })
  deps.onSold?.((service) => {
    runner.putService(service).catch((error: unknown) => {
      log.error({ err: error, service: service.slug }, 'failed to schedule plugin jobs')
    })
  })
  await workLowBalanceQueue(boss, onLowBalance)
  const subscribers = await runSubscribers({ pool, subscribers: createSubscribers(boss), log })
  const queues = workQueues(deps, stopping.signal)
  const running = scope.move()
  return {
    async stop() {
      stopping.abort()
      await subscribers.stop()
      await Promise.all([running.disposeAsync(), withTimeout(STOP_MS, queues)])
    },
  }
}

/**
 * Restores an error that pg-boss copied into an object of no class, and names no queue, so that it
 * is part of the outage that all queues report.
 */
function withoutQueue(error: object & { readonly message: string }): Error {
  if (error instanceof Error) return error
  const [message] = error.message.split(' (Queue: ')
  return Object.assign(new Error(message), { ...error, message })
}
