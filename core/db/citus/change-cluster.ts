import { type ClientBase, DatabaseError } from 'pg'
import { ConfigError } from '../../runtime/config-error.ts'
import { inTransactionOn } from '../transaction.ts'
import { createShardFunctions } from './shard-functions.ts'
import { shareRoles } from './share-roles.ts'
import { withoutViews } from './without-views.ts'

/** Address of a node, as other nodes reach it. */
export interface NodeAddress {
  readonly host: string
  readonly port: number
}

/**
 * Moves a shard of the ledger, with all its tables, to another node without stopping batches.
 * Shards that share its physical shard move with it.
 * @throws ConfigError if there is no such shard or node; returns false if it is there already
 */
export async function moveShard(
  client: ClientBase,
  shard: number,
  { host, port }: NodeAddress,
): Promise<boolean> {
  await assertNode(client, { host, port })
  const { rows } = await client.query<{ physical: bigint; host: string; port: number }>(
    `SELECT s.shardid AS physical, s.nodename AS host, s.nodeport AS port FROM citus_shards s
     WHERE s.shardid = (SELECT get_shard_id_for_distribution_column('ledger.head', h.shard)
       FROM unnest($1::smallint[]) h(shard))`,
    [await knownShard(client, shard)],
  )
  const from = rows[0]!
  if (from.host === host && from.port === port) return false
  await orRefuse(
    `Shard ${shard} was not moved. Its node reports`,
    client.query(`SELECT citus_move_shard_placement($1, $2, $3, $4, $5, 'force_logical')`, [
      from.physical,
      from.host,
      from.port,
      host,
      port,
    ]),
  )
  return true
}

/** @throws ConfigError with the database's message if it refuses the work */
async function orRefuse<T>(outcome: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
    throw new ConfigError(`${outcome}: ${error.message}`, { cause: error })
  }
}

/** Maximum of the type of the column. */
const SHARD_MAX = 32_767

async function knownShard(client: ClientBase, shard: number): Promise<readonly number[]> {
  if (shard >= 0 && shard <= SHARD_MAX) {
    const { rowCount } = await orRefuse(
      `Shard ${shard} was not moved. Its node reports`,
      client.query('SELECT 1 FROM ledger.head WHERE shard = $1', [shard]),
    )
    if (rowCount === 1) return [shard]
  }
  throw new ConfigError(`The ledger has no shard ${shard}. Nothing was moved.`)
}

async function assertNode(client: ClientBase, { host, port }: NodeAddress): Promise<void> {
  const { rowCount } = await client.query(
    'SELECT 1 FROM pg_dist_node WHERE nodename = $1 AND nodeport = $2 AND shouldhaveshards',
    [host, port],
  )
  if (rowCount === 1) return
  throw new ConfigError(
    `${host}:${port} is not a node that stores shards: see "npm run cluster -- status". ` +
      'Nothing was moved.',
  )
}

/**
 * Adds a node, with the roles and functions of the ledger, or completes one. Shards move there
 * later.
 * @returns false if it was a node before
 */
export async function addNode(client: ClientBase, { host, port }: NodeAddress): Promise<boolean> {
  const { rowCount } = await client.query(
    'SELECT 1 FROM pg_dist_node WHERE nodename = $1 AND nodeport = $2',
    [host, port],
  )
  if (rowCount === 0) {
    const add = async () => void (await client.query('SELECT citus_add_node($1, $2)', [host, port]))
    await orRefuse(
      `${host}:${port} was not added. It needs the database, with the extension Citus, and must ` +
        'accept the login of the owner from the other nodes. The coordinator reports',
      inTransactionOn(client, () => withoutViews(client, add)),
    )
  }
  await orRefuse(
    `${host}:${port} is a node, but lacks roles, functions or tables: repeat the command. ` +
      'It reports',
    completeNodes(client),
  )
  return rowCount === 0
}

/** Creates on every node what it lacks to store shards. Tables are copied while the hubs write. */
async function completeNodes(client: ClientBase): Promise<void> {
  await shareRoles(client)
  await createShardFunctions(client)
  await client.query(`SELECT replicate_reference_tables('force_logical')`)
}

/** Shard of the ledger and the node on which it is, or to which it moves. */
interface ShardPlace {
  readonly shard: number
  readonly node: string
}

interface PhysicalPlace extends ShardPlace {
  readonly physical: bigint
}

/** Shards of the ledger that share a physical shard, which move together. */
type Group = readonly PhysicalPlace[]

/**
 * Spreads the shards of the ledger over the nodes, one after the other, without stopping batches.
 * Takes those that have entries first: empty physical shards stay where they are.
 * @yields each shard that has moved, with its new node
 */
export async function* rebalance(
  client: ClientBase,
  nodes: readonly { readonly node: string; readonly storesShards: boolean }[],
  shards: readonly PhysicalPlace[],
): AsyncGenerator<ShardPlace> {
  const moves = planMoves(
    nodes.filter(({ storesShards }) => storesShards).map(({ node }) => node),
    shards,
  )
  for (const move of moves) {
    await moveShard(client, move.shard, parseNode(move.node)!)
    yield move
  }
}

/**
 * Plans moves after which no other one would make the numbers of shards of two nodes more equal.
 * Shards that share a physical shard move together.
 */
export function planMoves(
  nodes: readonly string[],
  shards: readonly PhysicalPlace[],
): readonly ShardPlace[] {
  if (nodes.length === 0) return []
  const groups: readonly Group[] = [...Map.groupBy(shards, ({ physical }) => physical).values()]
  const held = nodes.map((node) => ({
    node,
    groups: groups.filter(([first]) => first!.node === node),
  }))
  const bySize = () => held.toSorted((a, b) => sizeOf(a.groups) - sizeOf(b.groups))
  const stranded = groups.filter(([first]) => !nodes.includes(first!.node))
  for (const group of stranded.toSorted((a, b) => b.length - a.length)) {
    bySize()[0]!.groups.push(group)
  }
  for (;;) {
    const [to, ...others] = bySize()
    const [move] = others.toReversed().flatMap((from) => {
      const group = bestToMove(from.groups, to!.groups)
      return group ? { from, group } : []
    })
    if (!move) break
    move.from.groups = move.from.groups.filter((each) => each !== move.group)
    to!.groups.push(move.group)
  }
  return held.flatMap((target) =>
    target.groups
      .flat()
      .filter(({ node }) => node !== target.node)
      .map(({ shard }) => ({ shard, node: target.node })),
  )
}

/** Returns the group whose move makes the numbers of shards most equal; undefined if none does. */
function bestToMove(from: readonly Group[], to: readonly Group[]): Group | undefined {
  const difference = sizeOf(from) - sizeOf(to)
  const excess = ({ length }: Group) => Math.abs(difference / 2 - length)
  const movable = from.filter(({ length }) => length < difference)
  return movable.toSorted((a, b) => excess(a) - excess(b) || a.length - b.length)[0]
}

const sizeOf = (groups: readonly Group[]): number =>
  groups.reduce((sum, { length }) => sum + length, 0)

/** Parses `host:port`; undefined if it is neither. */
export function parseNode(text: string): NodeAddress | undefined {
  const at = text.lastIndexOf(':')
  const port = Number(text.slice(at + 1))
  return at > 0 && Number.isInteger(port) && port > 0
    ? { host: text.slice(0, at), port }
    : undefined
}
