import type { Pool } from 'pg'
import type { Log } from '../../../log.ts'
import { type ProberPorts, probeDue } from '../probe/run.ts'
import { RANK } from '../store.ts'
import { originSource, submit } from '../submit.ts'
import { beginTurn } from '../time-budget.ts'
import type { ChainLogs } from './chain-logs.ts'
import { readOrigin } from './origin.ts'
import { type IndexSource, type ReadIndexPorts, readIndex } from './read-index.ts'
import { type ReadRegistryPorts, readRegistry } from './read-registry.ts'
import { readTransfers } from './read-transfers.ts'
import type { DiscoverySettings } from './settings.ts'
import { type Discovery, finishPass, listSources, openSource } from './sources.ts'

/** What finding sellers works with. */
export interface Discovering
  extends Omit<ReadRegistryPorts, 'chainLogs' | 'fromBlock' | 'ipfsGateway'>,
    Pick<ReadIndexPorts, 'againSeconds' | 'retryMs'>,
    Pick<ProberPorts, 'pace'> {
  readonly settings: DiscoverySettings
  /** Undefined where there is no chain to read: then no registry and no transfers are. */
  readonly chainLogs: ChainLogs | undefined
  readonly log: Log
}

/** A run ends before its job is taken for dead. */
const RUN_MS = 200_000
const DAY_SECONDS = 86_400

/** Reads every index that is due. One that fails is no reason to leave out the others. */
export async function discoverIndexes(ports: Discovering, only?: string): Promise<void> {
  const isOver = beginTurn(ports, RUN_MS)
  for (const index of ports.settings.indexes) {
    const due = only === undefined ? await isDue(ports.pool, index.name) : only === index.name
    if (isOver()) return
    if (due) await readOne(ports, index)
  }
}

async function readOne(ports: Discovering, index: IndexSource): Promise<void> {
  const outcome = await readIndex(ports, index)
  if (typeof outcome === 'string') ports.log.info({ index: index.name, outcome }, 'index read')
  else ports.log.warn({ index: index.name, ...outcome }, 'an index cannot be read on')
}

async function isDue(pool: Pool, source: string): Promise<boolean> {
  await openSource(pool, source)
  const { rowCount } = await pool.query(
    'SELECT FROM hub.discovery WHERE source = $1 AND next_at <= now()',
    [source],
  )
  return rowCount === 1
}

const ORIGIN = /^origin:/

/** Reads the documents of registered origins anew, each once a day, and looks at what they name. */
export async function discoverOrigins(ports: Discovering): Promise<void> {
  const isOver = beginTurn(ports, RUN_MS)
  for (const source of await listSources(ports.pool)) {
    if (isOver()) return
    const isOrigin = ORIGIN.test(source.source)
    if (isOrigin && (await isDue(ports.pool, source.source))) await readAgain(ports, source)
  }
}

async function readAgain(ports: Discovering, discovery: Discovery): Promise<void> {
  const origin = discovery.source.replace(ORIGIN, '')
  const { targets } = await readOrigin(ports.egress, origin, ports.rules)
  const namer = { source: originSource(origin), rank: RANK.document, pass: discovery.pass }
  let listed = 0
  for (const target of targets) {
    const { id } = await submit(ports, target, namer)
    if (id !== undefined) listed += 1
  }
  await finishPass(ports.pool, discovery, { whole: listed > 0, againSeconds: DAY_SECONDS })
}

/** Reads on who was registered as an agent. */
export async function discoverAgents(ports: Discovering): Promise<void> {
  const { chainLogs, settings } = ports
  if (!chainLogs) return
  const { ipfsGateway, registryFromBlock: fromBlock } = settings
  await readRegistry({ ...ports, chainLogs, ipfsGateway, fromBlock })
}

/** Counts on what facilitators settle. */
export async function discoverTransfers(ports: Discovering): Promise<void> {
  const { chainLogs, settings } = ports
  if (chainLogs) await readTransfers({ ...ports, chainLogs, facilitators: settings.facilitators })
}

export const probeListings = (ports: Discovering): Promise<unknown> => probeDue(ports)

/** Single probes are told for a month; their days are kept. */
export const pruneProbes = ({ pool }: Discovering): Promise<unknown> =>
  pool.query(`DELETE FROM hub.listing_probe WHERE at < now() - interval '30 days'`)
