import { elapsedMs, sleep } from '../../../core/clock.ts'
import { assignInRounds, type Random } from '../../conservation/random.ts'
import { childrenOf } from '../rig/cluster.ts'
import type { Clients } from './client.ts'
import { type Deployment, startAgain } from './deployment.ts'
import type { RequestLog } from './request-log.ts'

/** Failure of one part, which ends when the returned function has run. */
interface RecoveryFault {
  /** Milliseconds between failure and repair. @defaultValue 0 */
  readonly holdMs?: number
  readonly begin: () => Promise<() => unknown>
}

/** Names of the faults; the checker decides by them which answers are explained. */
export const FAULT_NAMES = [
  'kill -9 of the hub',
  'kill -9 of a worker',
  'SIGTERM restart of the hub',
  'kill -9 of the jobs',
  'kill -9 of PostgreSQL',
  'SIGSTOP of PostgreSQL',
  'SIGSTOP of the chain',
  'restart of the chain',
  'SIGSTOP of the second chain',
  'restart of the second chain',
  'Redis is unreachable',
  'mail server is unreachable',
  'webhooks are refused',
] as const
export type FaultName = (typeof FAULT_NAMES)[number]

const STOPPED_MS = 10_000
const OUTAGE_MS = 3_000
/** Maximum time that interrupted requests get before the next fault. */
const ANSWERS_MS = 60_000
const WORKER = /hub-process/

const createFaults = (deployment: Deployment): Readonly<Record<FaultName, RecoveryFault>> => {
  const { hub, jobs, cluster, chain, secondChain } = deployment
  const { mailProxy, redisProxy, webhookProxy } = deployment
  const end = (program: typeof hub, signal: 'SIGKILL' | 'SIGTERM') => async () => {
    await program.kill(signal)
    return () => startAgain(program)
  }
  const refuse = (proxy: typeof mailProxy | undefined) => async () => {
    if (!proxy) return () => {}
    const { target } = proxy
    proxy.target = undefined
    proxy.cut()
    return () => {
      proxy.target = target
    }
  }
  const suspend = (each: typeof chain) => ({
    holdMs: STOPPED_MS,
    begin: async () => {
      const { pid } = each.process
      process.kill(pid, 'SIGSTOP')
      return () => process.kill(pid, 'SIGCONT')
    },
  })
  const restart = (each: typeof chain) => ({
    begin: async () => {
      await each.restart()
      return () => {}
    },
  })
  return {
    'kill -9 of the hub': { begin: end(hub, 'SIGKILL') },
    'kill -9 of a worker': {
      begin: async () => {
        const [worker] = await childrenOf(hub.pid!, WORKER)
        if (worker !== undefined) process.kill(worker, 'SIGKILL')
        return () => {}
      },
    },
    'SIGTERM restart of the hub': { begin: end(hub, 'SIGTERM') },
    'kill -9 of the jobs': { begin: end(jobs, 'SIGKILL') },
    'kill -9 of PostgreSQL': {
      begin: async () => {
        await cluster.kill()
        return () => cluster.start()
      },
    },
    'SIGSTOP of PostgreSQL': { holdMs: STOPPED_MS, begin: () => cluster.suspend() },
    'SIGSTOP of the chain': suspend(chain),
    'restart of the chain': restart(chain),
    'SIGSTOP of the second chain': suspend(secondChain),
    'restart of the second chain': restart(secondChain),
    'Redis is unreachable': { holdMs: OUTAGE_MS, begin: refuse(redisProxy) },
    'mail server is unreachable': { holdMs: OUTAGE_MS, begin: refuse(mailProxy) },
    'webhooks are refused': { holdMs: OUTAGE_MS, begin: refuse(webhookProxy) },
  }
}

export interface ScheduleOptions {
  readonly deployment: Deployment
  readonly log: RequestLog
  readonly clients: Clients
  readonly random: Random
  readonly seconds: number
  /** Pause between a repair and the next fault, in milliseconds. */
  readonly pauseMs: number
}

/** Injects all faults in random order, one after another, at least once and for `seconds`. */
export async function injectFaults(options: ScheduleOptions): Promise<void> {
  const { deployment, log, clients, random, seconds, pauseMs } = options
  const faults = createFaults(deployment)
  const order = assignInRounds(random, FAULT_NAMES, { participants: 1, participant: 0 })
  const end = elapsedMs() + seconds * 1_000
  for (let times = 0; times < FAULT_NAMES.length || elapsedMs() < end; times++) {
    const name = order.next().value
    const { begin, holdMs = 0 } = faults[name]
    await sleep(pauseMs)
    log.fault(name, 'fault')
    const repair = await begin()
    await sleep(holdMs)
    await repair()
    log.fault(name, 'back')
    await clients.untilAnswered(ANSWERS_MS)
  }
  await sleep(pauseMs)
}
