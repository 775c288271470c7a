import cluster, { type Worker } from 'node:cluster'
import { availableParallelism } from 'node:os'
import { INHERITED_FD } from '../http/inherited-socket.ts'

/** A worker, and what it has said before anybody listened. */
interface ForkedWorker {
  readonly worker: Worker
  readonly missed: unknown[]
}

const WORKERS_MAX = 64
const early: ForkedWorker[] = []

/**
 * Number of workers that load at the same time as the first process, each on a processor of its
 * own: more would only delay the first one that serves.
 */
export const countEarly = (workers: number): number =>
  Math.min(workers, Math.max(1, availableParallelism() - 1))

/**
 * Forks the first workers of a hub before its first process has loaded its own code, so that all
 * load at the same time. The configuration is not read yet: `forkWorker` makes up for what this
 * leaves out.
 */
export function forkEarly(env: Readonly<Record<string, string | undefined>>): void {
  const count = Number(env['HUB_WORKERS'] ?? 1)
  if (cluster.isWorker || !Number.isInteger(count) || count < 2 || count > WORKERS_MAX) return
  configureCluster(env['LISTEN_FDS'] === '1' && env['LISTEN_PID'] === String(process.pid))
  for (let n = 0; n < countEarly(count); n++) {
    const worker = cluster.fork()
    const missed: unknown[] = []
    worker.on('message', (message) => missed.push(message))
    early.push({ worker, missed })
  }
}

/** Shares one socket among the workers, so that no connection is lost if one dies. */
export function configureCluster(inheritsSocket: boolean): void {
  cluster.schedulingPolicy = cluster.SCHED_NONE
  if (inheritsSocket) {
    cluster.setupPrimary({ stdio: ['inherit', 'inherit', 'inherit', INHERITED_FD, 'ipc'] })
  }
}

/** Returns a worker that was forked early and lives, else a new one. */
export function forkWorker(): ForkedWorker {
  const forked = early.shift()
  if (!forked) return { worker: cluster.fork(), missed: [] }
  return forked.worker.isDead() ? forkWorker() : forked
}
