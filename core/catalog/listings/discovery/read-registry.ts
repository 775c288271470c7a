import type { Pool } from 'pg'
import { decodeEventLog, parseAbi, toEventSelector } from 'viem'
import { inTransaction } from '../../../db/transaction.ts'
import type { Hex } from '../../../payments/chain/asset.ts'
import type { Reason } from '../reasons.ts'
import { RANK } from '../store.ts'
import { type ClaimSource, submitOrigin, submitTarget } from '../submit.ts'
import { startTimeBudget, type TimeBudget } from '../time-budget.ts'
import type { ListingDeps } from '../validate-target.ts'
import { agentTargets, readAgentFile } from './agent-file.ts'
import type { ChainLog, ChainLogs } from './chain-logs.ts'
import { importRows } from './import.ts'
import type { ListingTarget } from './read-origin.ts'
import { openSource, stopPass } from './sources.ts'

/** ERC-8004 identity registry, which has the same address on every chain. */
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
  /** First block that a new installation reads. */
  readonly fromBlock: bigint
  /** Number of latest blocks that are not read yet, because of possible reorganizations. */
  readonly depth: bigint
  /** URL to which IPFS content ids are appended. */
  readonly ipfsGateway: string
}

/** Progress of reading the registry. */
interface RegistryPlace {
  /** Next block, and the next event in it. */
  readonly block: string
  readonly index: number
  /** Hash of the previous block; if the chain has another one, it was reorganized. */
  readonly hash: Hex | null
}

/** Registration of an agent, or change of its file. */
export interface AgentEvent {
  readonly agentId: bigint
  readonly uri: string
  readonly block: bigint
  readonly index: number
}

const REGISTRY_SOURCE = 'erc8004:eip155:8453'
/** Blocks per query: public nodes allow few, and the span grows while nothing is found. */
const SPAN_BLOCKS = { min: 100n, start: 2_000n, max: 10_000n } as const
/** Blocks to go back after a reorganization deeper than `depth`. */
const REORG_STEP_BLOCKS = 256n
const EVENTS_AT_ONCE = 4
const NODE_FAILED = 'The blockchain node did not respond.'

/** Reads new registrations and their resources. Saves progress often; repeats are harmless. */
export async function readRegistry(deps: ReadRegistryDeps): Promise<{ readonly events: number }> {
  const { pool, chainLogs, depth } = deps
  const isTimeUp = startTimeBudget(deps, 60_000)
  const source = await openSource(pool, REGISTRY_SOURCE)
  const start: RegistryPlace = { block: String(deps.fromBlock), index: 0, hash: null }
  let events = 0
  try {
    let place = await rewindIfReorganized(deps, { ...start, ...source.place })
    const last = (await chainLogs.head()).number - depth
    let span: bigint = SPAN_BLOCKS.start
    while (BigInt(place.block) <= last && !isTimeUp()) {
      const found = await eventsFrom(chainLogs, BigInt(place.block), last, span)
      const first = BigInt(place.block)
      const { index } = place
      const fresh = found.events.filter((one) => one.block > first || one.index >= index)
      const read = await readEvents(deps, place, fresh, isTimeUp)
      events += read.events
      if (read.events < fresh.length) break
      const hash = (await chainLogs.hashOf(found.to)) ?? null
      place = { block: String(found.to + 1n), index: 0, hash }
      await savePlace(pool, place, 0)
      span = fresh.length === 0 && found.span < SPAN_BLOCKS.max ? found.span * 2n : found.span
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : NODE_FAILED
    await stopPass(pool, REGISTRY_SOURCE, message, { restarts: false })
  }
  return { events }
}

/** Reads the events of the next blocks; of fewer blocks if the node rejects the span. */
async function eventsFrom(chainLogs: ChainLogs, first: bigint, last: bigint, widest: bigint) {
  for (let span = widest; ; span /= 4n) {
    const to = first + span - 1n < last ? first + span - 1n : last
    const events = await eventsIn(chainLogs, first, to).catch((cause: unknown) => {
      if (span / 4n < SPAN_BLOCKS.min) throw new Error(NODE_FAILED, { cause })
    })
    if (events) return { events, to, span }
  }
}

/** Processes events until time is up. @returns their number */
async function readEvents(
  deps: ReadRegistryDeps,
  place: RegistryPlace,
  fresh: readonly AgentEvent[],
  isTimeUp: () => boolean,
): Promise<{ readonly events: number }> {
  let events = 0
  while (events < fresh.length && !isTimeUp()) {
    const some = fresh.slice(events, events + EVENTS_AT_ONCE)
    await processByAgent(some, (event) => readSafely(deps, event))
    events += some.length
    const { block, index } = some.at(-1)!
    const hash = String(block) === place.block ? place.hash : null
    await savePlace(deps.pool, { block: String(block), index: index + 1, hash }, some.length)
  }
  return { events }
}

/** Returns the place, or an earlier one if the chain was reorganized. */
async function rewindIfReorganized(
  deps: ReadRegistryDeps,
  place: RegistryPlace,
): Promise<RegistryPlace> {
  if (place.hash === null) return place
  const next = BigInt(place.block)
  if ((await deps.chainLogs.hashOf(next - 1n)) === place.hash) return place
  const back = next - REORG_STEP_BLOCKS > deps.fromBlock ? next - REORG_STEP_BLOCKS : deps.fromBlock
  const earlier: RegistryPlace = { block: String(back), index: 0, hash: null }
  await deps.pool.query(
    'UPDATE hub.listing_source SET gone = true WHERE source = $1 AND pass >= $2',
    [REGISTRY_SOURCE, back],
  )
  await savePlace(deps.pool, earlier, 0)
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

/** Returns undefined for a log that does not decode. */
function parseEvent({ topics, data, block, index }: ChainLog): AgentEvent | undefined {
  try {
    const event = decodeEventLog({ abi: ABI, topics: topics as [Hex, ...Hex[]], data })
    const uri = event.eventName === 'Registered' ? event.args.agentURI : event.args.newURI
    return { agentId: event.args.agentId, uri, block, index }
  } catch {
    return undefined
  }
}

/** Processes the events of each agent in order, and agents in parallel. */
async function processByAgent(
  events: readonly AgentEvent[],
  work: (event: AgentEvent) => Promise<void>,
): Promise<void> {
  const agents = Map.groupBy(events, ({ agentId }) => agentId)
  const each = [...agents.values()].map(async (agentEvents) => {
    for (const event of agentEvents) await work(event)
  })
  await Promise.all(each)
}

/** An agent that no check foresaw is refused alone; without a database the run stops. */
function readSafely(deps: ReadRegistryDeps, event: AgentEvent): Promise<void> {
  return readAgent(deps, event).catch(() => refuseAgent(deps, event, 'unreadable'))
}

async function refuseAgent(deps: ReadRegistryDeps, event: AgentEvent, reason: Reason) {
  const raw = { uri: event.uri.slice(0, 2_000) }
  const row = { key: `agent ${event.agentId}`, raw, result: { reason } }
  await inTransaction(deps.pool, (client) =>
    importRows(client, REGISTRY_SOURCE, RANK.registry, [row], Number(event.block)),
  )
}

/** Reads an agent's file and submits its resources; marks earlier ones as gone. */
async function readAgent(deps: ReadRegistryDeps, event: AgentEvent): Promise<void> {
  const { agentId, uri } = event
  const pass = Number(event.block)
  await deps.pool.query(
    `UPDATE hub.listing_source SET gone = true WHERE source = $1
       AND (key = $2 OR starts_with(key, $2 || ' '))`,
    [REGISTRY_SOURCE, `agent ${agentId}`],
  )
  const file = await readAgentFile(deps.egress, uri, deps.ipfsGateway, deps.rules)
  const targets = typeof file === 'string' ? file : agentTargets(file)
  if (typeof targets === 'string') return refuseAgent(deps, event, targets)
  const prefix = `agent ${agentId} `
  const claimSource = { source: REGISTRY_SOURCE, rank: RANK.registry, pass, prefix }
  for (const target of targets) await readTarget(deps, target, claimSource)
}

/** Submits an endpoint; if it is a root URL that sells nothing, submits its origin. */
async function readTarget(
  deps: ReadRegistryDeps,
  target: ListingTarget,
  claimSource: ClaimSource,
): Promise<void> {
  const { id, validation } = await submitTarget(deps, target, claimSource)
  const url = URL.parse(validation.url)
  const isSellerHidden =
    validation.probeResult !== undefined && url !== null && url.pathname === '/'
  if (id === undefined && isSellerHidden) await submitOrigin(deps, url.origin, claimSource)
}
