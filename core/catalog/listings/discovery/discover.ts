import type { Pool } from 'pg'
import type { Log } from '../../../log.ts'
import { logFailure, outagesOf } from '../../../outages.ts'
import { type ProbeDeps, probeDue } from '../probe/probe-due.ts'
import { RANK } from '../store.ts'
import { originSource, submitTarget } from '../submit.ts'
import { startTimeBudget } from '../time-budget.ts'
import type { ChainLogs } from './chain-logs.ts'
import { type IndexSource, type ReadIndexDeps, readIndex } from './read-index.ts'
import { readOrigin } from './read-origin.ts'
import { type ReadRegistryDeps, readRegistry } from './read-registry.ts'
import { readTransfers } from './read-transfers.ts'
import type { DiscoverySettings } from './settings.ts'
import { type DiscoverySource, finishPass, listSources, openSource } from './sources.ts'

/** Dependencies of the discovery jobs. */
export interface DiscoveryDeps
  extends Omit<ReadRegistryDeps, 'chainLogs' | 'fromBlock' | 'ipfsGateway'>,
    Pick<ReadIndexDeps, 'againSeconds' | 'retryMs'>,
    Pick<ProbeDeps, 'pace'> {
  readonly settings: DiscoverySettings
  /** Undefined without a chain; registry and transfers are then not read. */
  readonly chainLogs: ChainLogs | undefined
  readonly log: Log
}

/** Time limit of one run, well below the job's deadline. */
const RUN_BUDGET_MS = 200_000
const DAY_SECONDS = 86_400

/** Reads every index that is due. A failing index does not stop the others. */
export async function discoverIndexes(deps: DiscoveryDeps, only?: string): Promise<void> {
  const isTimeUp = startTimeBudget(deps, RUN_BUDGET_MS)
  for (const index of deps.settings.indexes) {
    const due = only === undefined ? await isDue(deps.pool, index.name) : only === index.name
    if (isTimeUp()) return
    if (due) await readDueIndex(deps, index)
  }
}

async function readDueIndex(deps: DiscoveryDeps, index: IndexSource): Promise<void> {
  const outcome = await readIndex(deps, index)
  const component = `index ${index.name}`
  if (typeof outcome === 'string') {
    deps.log.info({ index: index.name, outcome }, 'index read')
    outagesOf(deps.log).succeed(component)
  } else {
    logFailure(deps.log, 'warn', { err: outcome.stopped, component }, 'failed to read an index')
  }
}

async function isDue(pool: Pool, source: string): Promise<boolean> {
  await openSource(pool, source)
  const { rowCount } = await pool.query(
    'SELECT FROM hub.discovery WHERE source = $1 AND next_at <= now()',
    [source],
  )
  return rowCount === 1
}

const ORIGIN_PREFIX = /^origin:/

/** Rereads the documents of registered origins once a day and submits their resources. */
export async function discoverOrigins(deps: DiscoveryDeps): Promise<void> {
  const isTimeUp = startTimeBudget(deps, RUN_BUDGET_MS)
  for (const source of await listSources(deps.pool)) {
    if (isTimeUp()) return
    const isOrigin = ORIGIN_PREFIX.test(source.source)
    if (isOrigin && (await isDue(deps.pool, source.source))) await rereadOrigin(deps, source)
  }
}

async function rereadOrigin(deps: DiscoveryDeps, discovery: DiscoverySource): Promise<void> {
  const origin = discovery.source.replace(ORIGIN_PREFIX, '')
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

export const probeListings = (deps: DiscoveryDeps): Promise<unknown> => probeDue(deps)
