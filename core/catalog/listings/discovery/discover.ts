import type { Pool } from 'pg'
import type { Log } from '../../../log.ts'
import { logFailure, outagesOf } from '../../../outages.ts'
import type { ProbeDeps } from '../probe/probe-due.ts'
import { RANK } from '../store.ts'
import { originSource, submitTarget } from '../submit.ts'
import { startTimeBudget } from '../time-budget.ts'
import type { ChainLogs } from './chain-logs.ts'
import { type IndexSource, type ReadIndexDeps, readIndex } from './read-index.ts'
import { readOrigin } from './read-origin.ts'
import { type ReadRegistryDeps, readRegistry } from './read-registry.ts'
import { readTransfers } from './read-transfers.ts'
import type { DiscoverySettings } from './settings.ts'
import { type DiscoverySource, dueSources, finishPass, openSource, stopPass } from './sources.ts'

/** Dependencies of the discovery jobs. */
export interface DiscoveryDeps
  extends Omit<ReadRegistryDeps, 'chainLogs' | 'fromBlock' | 'ipfsGateway'>,
    Pick<ReadIndexDeps, 'againSeconds' | 'retryMs'>,
    Pick<ProbeDeps, 'pace' | 'buysMetered'> {
  readonly settings: DiscoverySettings
  /** Undefined without a chain; registry and transfers are then not read. */
  readonly chainLogs: ChainLogs | undefined
  readonly log: Log
}

/** Time limit of one run, well below the job's deadline. */
const RUN_BUDGET_MS = 200_000
const DAY_SECONDS = 86_400

/** Reads the indexes that are due, at the same time. A slow or failing one delays no other. */
export async function discoverIndexes(deps: DiscoveryDeps): Promise<void> {
  const read = async (index: IndexSource): Promise<void> => {
    if (await isDue(deps.pool, index.name)) await readDueIndex(deps, index)
  }
  await Promise.all(deps.settings.indexes.map(read))
}

async function readDueIndex(deps: DiscoveryDeps, index: IndexSource): Promise<void> {
  const outcome = await readIndex(deps, index).catch((error: unknown) => ({ failed: error }))
  const component = `index ${index.name}`
  if (typeof outcome === 'string') {
    deps.log.info({ index: index.name, outcome }, 'index read')
    outagesOf(deps.log).succeed(component)
    return
  }
  const err = 'stopped' in outcome ? outcome.stopped : outcome.failed
  logFailure(deps.log, 'warn', { err, component }, 'failed to read an index')
  if ('failed' in outcome) await stopPass(deps.pool, index.name, messageOf(err))
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error)

async function isDue(pool: Pool, source: string): Promise<boolean> {
  await openSource(pool, source)
  const { rowCount } = await pool.query(
    'SELECT FROM hub.discovery WHERE source = $1 AND next_at <= now()',
    [source],
  )
  return rowCount === 1
}

const ORIGIN_PREFIX = originSource('')
const ORIGINS_AT_ONCE = 8
const ORIGINS_PER_RUN = 500

/**
 * Rereads the documents of registered origins once a day and submits their resources, several
 * origins at a time. One that fails is tried again later and stops no other.
 */
export async function discoverOrigins(deps: DiscoveryDeps): Promise<void> {
  const isTimeUp = startTimeBudget(deps, RUN_BUDGET_MS)
  const due = await dueSources(deps.pool, ORIGIN_PREFIX, ORIGINS_PER_RUN)
  const work = async (): Promise<void> => {
    for (let next = due.shift(); next && !isTimeUp(); next = due.shift()) {
      const { source } = next
      await rereadOrigin(deps, next).catch(async (error: unknown) => {
        const failure = { err: error, component: source }
        logFailure(deps.log, 'warn', failure, 'failed to reread an origin')
        await stopPass(deps.pool, source, messageOf(error))
      })
    }
  }
  await Promise.all(Array.from({ length: ORIGINS_AT_ONCE }, work))
}

async function rereadOrigin(deps: DiscoveryDeps, discovery: DiscoverySource): Promise<void> {
  const origin = discovery.source.slice(ORIGIN_PREFIX.length)
  const { targets } = await readOrigin(deps.egress, origin, deps.rules)
  const claimSource = { source: originSource(origin), rank: RANK.document, pass: discovery.pass }
  let listed = 0
  for (const target of targets) {
    const { id } = await submitTarget(deps, target, claimSource)
    if (id !== undefined) listed += 1
  }
  await finishPass(deps.pool, discovery, { whole: listed > 0, againSeconds: DAY_SECONDS })
}

/** Reads newly registered agents. */
export async function discoverAgents(deps: DiscoveryDeps): Promise<void> {
  const { chainLogs, settings } = deps
  if (!chainLogs) return
  const { ipfsGateway, registryFromBlock: fromBlock } = settings
  await readRegistry({ ...deps, chainLogs, ipfsGateway, fromBlock })
}

/** Counts new payments settled by facilitators. */
export async function discoverTransfers(deps: DiscoveryDeps): Promise<void> {
  const { chainLogs, settings } = deps
  if (chainLogs) await readTransfers({ ...deps, chainLogs, facilitators: settings.facilitators })
}
