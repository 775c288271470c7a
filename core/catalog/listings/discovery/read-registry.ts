import type { Pool } from 'pg'
import { decodeEventLog, parseAbi, toEventSelector } from 'viem'
import { inTransaction } from '../../../db/transaction.ts'
import type { Hex } from '../../../payments/chain/asset.ts'
import { RANK } from '../store.ts'
import { submitOrigin, submitTarget } from '../submit.ts'
import { startTimeBudget, type TimeBudget } from '../time-budget.ts'
import type { ListingDeps } from '../validate-target.ts'
import { agentTargets, readAgentFile } from './agent-file.ts'
import type { ChainLog, ChainLogs } from './chain-logs.ts'
import { importRows } from './import.ts'
import type { ListingTarget } from './read-origin.ts'
import { openSource, stopPass } from './sources.ts'

/** The identity registry of ERC-8004, at the same address on every chain that has it. */
export const ERC8004_REGISTRY: Hex = '0x8004A169FB4a3325136EB29fA0ceB6D2e539a432'

const ABI = parseAbi([
  'event Registered(uint256 indexed agentId, string agentURI, address indexed owner)',
  'event URIUpdated(uint256 indexed agentId, string newURI, address indexed updatedBy)',
])
const TOPICS = [
  toEventSelector('Registered(uint256,string,address)'),
  toEventSelector('URIUpdated(uint256,string,address)'),
] as const

export interface ReadRegistryDeps extends ListingDeps, TimeBudget {
  readonly chainLogs: ChainLogs
  /** Where a new installation begins. */
  readonly fromBlock: bigint
  /** Blocks that may still be reorganised away: they are read later. */
  readonly depth: bigint
  /** Content ids of IPFS are put behind it. */
  readonly ipfsGateway: string
}

/** Up to where the registry was read. */
interface RegistryPlace {
  /** The next block, and of it the next event. */
  readonly block: string
  readonly index: number
  /** Of the block before: when the chain has another one there, some of what was read never was. */
  readonly hash: Hex | null
}

/** An agent that was registered, or has another file now. */
export interface AgentEvent {
  readonly agentId: bigint
  readonly uri: string
  readonly block: bigint
  readonly index: number
}

const REGISTRY_SOURCE = 'erc8004:eip155:8453'
/** Public nodes allow few blocks in a question; it widens while nothing is found. */
const SPAN_BLOCKS = { min: 100n, start: 2_000n, max: 10_000n } as const
/** How far back it goes when the chain was reorganised deeper than `depth`. */
const REORG_STEP_BLOCKS = 256n
const EVENTS_AT_ONCE = 4
const NODE_FAILED = 'The node of the chain did not answer.'

/**
 * Reads who was registered since the last run, each agent's file, and the resources that it names.
 * The place moves after each few events; an event that is read twice does no harm.
 */
export async function readRegistry(ports: ReadRegistryDeps): Promise<{ readonly events: number }> {
  const { pool, chainLogs, depth } = ports
  const isOver = startTimeBudget(ports, 60_000)
  const source = await openSource(pool, REGISTRY_SOURCE)
  const fresh: RegistryPlace = { block: String(ports.fromBlock), index: 0, hash: null }
  let events = 0
  try {
    let place = await rewindIfReorganized(ports, { ...fresh, ...source.place })
    const last = (await chainLogs.head()).number - depth
    let span: bigint = SPAN_BLOCKS.start
    while (BigInt(place.block) <= last && !isOver()) {
      const found = await eventsFrom(chainLogs, BigInt(place.block), last, span)
      const first = BigInt(place.block)
      const { index } = place
      const news = found.events.filter((one) => one.block > first || one.index >= index)
      const read = await readEvents(ports, place, news, isOver)
      events += read.events
      if (read.events < news.length) break
      const hash = (await chainLogs.hashOf(found.to)) ?? null
      place = { block: String(found.to + 1n), index: 0, hash }
      await savePlace(pool, place, 0)
      span = news.length === 0 && found.span < SPAN_BLOCKS.max ? found.span * 2n : found.span
    }
  } catch (error) {
    await stopPass(pool, REGISTRY_SOURCE, error instanceof Error ? error.message : NODE_FAILED)
  }
  return { events }
}

/** The events of the next blocks: of fewer where the node does not answer for so many. */
async function eventsFrom(chainLogs: ChainLogs, first: bigint, last: bigint, widest: bigint) {
  for (let span = widest; ; span /= 4n) {
    const to = first + span - 1n < last ? first + span - 1n : last
    const events = await eventsIn(chainLogs, first, to).catch((cause: unknown) => {
      if (span / 4n < SPAN_BLOCKS.min) throw new Error(NODE_FAILED, { cause })
    })
    if (events) return { events, to, span }
  }
}

/** Reads events until the time is over. @returns how many */
async function readEvents(
  ports: ReadRegistryDeps,
  place: RegistryPlace,
  news: readonly AgentEvent[],
  isOver: () => boolean,
): Promise<{ readonly events: number }> {
  let events = 0
  while (events < news.length && !isOver()) {
    const some = news.slice(events, events + EVENTS_AT_ONCE)
    await processByAgent(some, (event) => readAgent(ports, event))
    events += some.length
    const { block, index } = some.at(-1)!
    const hash = String(block) === place.block ? place.hash : null
    await savePlace(ports.pool, { block: String(block), index: index + 1, hash }, some.length)
  }
  return { events }
}

/** The place, or one further back when the chain is not the one that was read. */
async function rewindIfReorganized(
  ports: ReadRegistryDeps,
  place: RegistryPlace,
): Promise<RegistryPlace> {
  if (place.hash === null) return place
  const next = BigInt(place.block)
  if ((await ports.chainLogs.hashOf(next - 1n)) === place.hash) return place
  const back =
    next - REORG_STEP_BLOCKS > ports.fromBlock ? next - REORG_STEP_BLOCKS : ports.fromBlock
  const earlier: RegistryPlace = { block: String(back), index: 0, hash: null }
  await ports.pool.query(
    'UPDATE hub.listing_source SET gone = true WHERE source = $1 AND pass >= $2',
    [REGISTRY_SOURCE, back],
  )
  await savePlace(ports.pool, earlier, 0)
  return earlier
}

async function savePlace(pool: Pool, place: RegistryPlace, events: number): Promise<void> {
  await pool.query(
    `UPDATE hub.discovery SET place = $2, pages = pages + 1, rows = rows + $3, failures = 0,
       error = NULL, finished_at = now() WHERE source = $1`,
    [REGISTRY_SOURCE, JSON.stringify(place), events],
  )
}

async function eventsIn(
  chainLogs: ChainLogs,
  fromBlock: bigint,
  toBlock: bigint,
): Promise<readonly AgentEvent[]> {
  const query = { address: ERC8004_REGISTRY, topics: [TOPICS], fromBlock, toBlock }
  return (await chainLogs.logs(query)).flatMap((log) => parseEvent(log) ?? [])
}

/** Undefined for a log that only looks like one: anybody can deploy a contract. */
function parseEvent({ topics, data, block, index }: ChainLog): AgentEvent | undefined {
  try {
    const event = decodeEventLog({ abi: ABI, topics: topics as [Hex, ...Hex[]], data })
    const uri = event.eventName === 'Registered' ? event.args.agentURI : event.args.newURI
    return { agentId: event.args.agentId, uri, block, index }
  } catch {
    return undefined
  }
}

/** Events of one agent one after the other, those of several at the same time. */
async function processByAgent(
  events: readonly AgentEvent[],
  work: (event: AgentEvent) => Promise<void>,
): Promise<void> {
  const agents = Map.groupBy(events, ({ agentId }) => agentId)
  const each = [...agents.values()].map(async (own) => {
    for (const event of own) await work(event)
  })
  await Promise.all(each)
}

/** Reads an agent's file and looks at what it names; what it named before is gone. */
async function readAgent(ports: ReadRegistryDeps, event: AgentEvent): Promise<void> {
  const { agentId, uri } = event
  const pass = Number(event.block)
  await ports.pool.query(
    `UPDATE hub.listing_source SET gone = true WHERE source = $1
       AND (key = $2 OR starts_with(key, $2 || ' '))`,
    [REGISTRY_SOURCE, `agent ${agentId}`],
  )
  const file = await readAgentFile(ports.egress, uri, ports.ipfsGateway, ports.rules)
  const targets = typeof file === 'string' ? file : agentTargets(file)
  const prefix = `agent ${agentId}`
  if (typeof targets === 'string') {
    const row = { key: prefix, raw: { uri: uri.slice(0, 2_000) }, result: { reason: targets } }
    await inTransaction(ports.pool, (client) =>
      importRows(client, REGISTRY_SOURCE, RANK.registry, [row], pass),
    )
    return
  }
  const namer = { source: REGISTRY_SOURCE, rank: RANK.registry, pass, prefix: `${prefix} ` }
  for (const target of targets) await readTarget(ports, target, namer)
}

/** An endpoint that asks for a payment, or the origin that sells below it. */
async function readTarget(
  ports: ReadRegistryDeps,
  target: ListingTarget,
  namer: Parameters<typeof submitTarget>[2],
): Promise<void> {
  const { id, examination } = await submitTarget(ports, target, namer)
  const url = URL.parse(examination.url)
  const isSellerHidden = examination.probed !== undefined && url !== null && url.pathname === '/'
  if (id === undefined && isSellerHidden) await submitOrigin(ports, url.origin, namer)
}
