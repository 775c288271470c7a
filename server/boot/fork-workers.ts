import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { INHERITED_FD } from '../http/inherited-socket.ts'
import type { SandboxPlace } from '../sandbox/start.ts'
import type { PrimaryMessage, WorkerMessage } from './worker-messages.ts'

/** A worker, and the messages that it sent before a listener was added. */
interface ForkedWorker {
  readonly worker: Worker
  readonly missed: unknown[]
}

const WORKERS_MAX = 64
const early: ForkedWorker[] = []

/**
 * Number of workers that load at the same time as the primary process, each on its own processor.
 * More would only delay the first one that serves.
 */
export const countEarly = (workers: number): number =>
  Math.min(workers, Math.max(1, availableParallelism() - 1))

/** Results of the primary process that workers need before they can serve. */
interface Prepared {
  readonly sandbox: SandboxPlace | undefined
}

/** Signals that end a hub. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Milliseconds after which the primary process loads even if no worker serves. */
const SERVING_MS = 10_000
/**
 * Milliseconds in which a worker serves its backlog before the primary process and other workers
 * compete for processors. It serves slowly, because its code is not optimized yet.
 */
const BACKLOG_MS = 1_000

/**
 * Forks the first workers of a hub before its primary process has loaded its own code. The
 * configuration is not read yet: `forkWorker` makes up for what this leaves out.
 *
 * If workers need nothing that the primary process prepares, it leaves the processors to them and
 * loads soon after one serves. Otherwise, all load at the same time.
 * @param prepared results that already exist
 */
export async function forkEarly(
  env: Readonly<Record<string, string | undefined>>,
  prepared?: Prepared,
): Promise<void> {
  const count = Number(env['HUB_WORKERS'] ?? 1)
  if (cluster.isWorker || !Number.isInteger(count) || count < 2 || count > WORKERS_MAX) return
  configureCluster(env['LISTEN_FDS'] === '1' && env['LISTEN_PID'] === String(process.pid))
  for (let n = 0; n < countEarly(count); n++) {
    const worker = cluster.fork()
    const missed: unknown[] = []
    worker.on('message', (message) => missed.push(message))
    early.push({ worker, missed })
  }
  if (!prepared) return
  for (const signal of SIGNALS) process.once(signal, drainEarly)
  const serving = early.map(({ worker }) => letServe(worker, prepared))
  const serves = await Promise.race([...serving, sleep(SERVING_MS, false, { ref: false })])
  if (serves) await sleep(BACKLOG_MS)
}

/** Responds to the messages of a worker. @returns false if it cannot serve */
function letServe(worker: Worker, { sandbox }: Prepared): Promise<boolean> {
  return new Promise((resolve) => {
    worker.once('exit', () => resolve(false))
    worker.on('message', ({ hub }: WorkerMessage) => {
      if (hub === 'hello') sendTo(worker, { hub: 'place', sandbox })
      else if (hub === 'opened') sendTo(worker, { hub: 'listen' })
      else if (hub === 'ready' || hub === 'failed') resolve(hub === 'ready')
    })
  })
}

/** Ends a hub whose primary process cannot stop its workers yet. */
function drainEarly(): void {
  const ends = early.map(async ({ worker }) => {
    worker.process.kill('SIGTERM')
    if (!worker.isDead()) await once(worker, 'exit')
  })
  void Promise.all(ends).then(() => process.exit(0))
}

export function sendTo(worker: Worker, message: PrimaryMessage): void {
  if (worker.isConnected()) worker.send(message, () => {})
}

/** Shares one socket among the workers, so that no connection is lost if one dies. */
export function configureCluster(inheritsSocket: boolean): void {
  cluster.schedulingPolicy = cluster.SCHED_NONE
  if (inheritsSocket) {
    cluster.setupPrimary({ stdio: ['inherit', 'inherit', 'inherit', INHERITED_FD, 'ipc'] })
  }
}

/** Returns a worker that was forked early and lives, else a new one. Its caller stops it. */
export function forkWorker(): ForkedWorker {
  for (const signal of SIGNALS) process.off(signal, drainEarly)
  const forked = early.shift()
  if (!forked) return { worker: cluster.fork(), missed: [] }
  return forked.worker.isDead() ? forkWorker() : forked
}
