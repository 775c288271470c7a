import type { Random } from '../../conservation/random.ts'
import { createBuyers, runBuyer } from './buyers.ts'
import { Clients } from './client.ts'
import {
  collectFacts,
  openOwnerPool,
  type RecoveryFacts,
  readBaseline,
  waitUntilSettled,
} from './collect.ts'
import { startDeployment } from './deployment.ts'
import { injectFaults } from './fault-schedule.ts'
import { type ClientLog, RequestLog } from './request-log.ts'

export interface RecoveryRun {
  readonly seconds: number
  readonly random: Random
  /** Path of the log of all requests. */
  readonly path: string
}

/** Pause between faults; longer than recovery may take. */
const PAUSE_MS = 6_000
/** Holds of cut-off calls end by themselves after a minute and their deadline. */
const SETTLE_MS = 240_000

/** Runs buyers and faults, and collects what the buyers were told and what is true. */
export async function runRecovery({
  seconds,
  random,
  path,
}: RecoveryRun): Promise<{ readonly log: ClientLog; readonly facts: RecoveryFacts }> {
  const deployment = await startDeployment(random)
  const pool = openOwnerPool(deployment)
  try {
    const requestLog = new RequestLog(path)
    const clients = new Clients(deployment.url, requestLog)
    const deps = { deployment, clients, random: random.fork('buyers') }
    const buyers = await createBuyers(deps)
    const collecting = { deployment, clients, buyers, pool }
    const before = await readBaseline(collecting)
    let hasEnded = false
    const load = Promise.all(buyers.map((buyer) => runBuyer(buyer, deps, () => hasEnded)))
    const faults = random.fork('faults')
    const schedule = { deployment, clients, log: requestLog, random: faults }
    await injectFaults({ ...schedule, seconds, pauseMs: PAUSE_MS }).finally(() => (hasEnded = true))
    await load
    await deployment.market.idle()
    const isSettled = await waitUntilSettled(collecting, SETTLE_MS)
    const log = requestLog.read()
    const facts = await collectFacts(collecting, before, log)
    const findings = isSettled ? [] : ['payments, holds or fees are still open']
    return { log, facts: { ...facts, findings: [...facts.findings, ...findings] } }
  } finally {
    await pool.end()
    await deployment.stop()
  }
}
