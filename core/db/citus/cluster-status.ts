import type { ClientBase } from 'pg'
import { listUnadapted } from './adapt-functions.ts'

/** Node of the cluster. */
export interface ClusterNode {
  /** `host:port`, as other nodes reach it. */
  readonly node: string
  readonly isCoordinator: boolean
  readonly isActive: boolean
  /** True if it may store shards. */
  readonly storesShards: boolean
  readonly shards: number
  /** Size of its tables of the ledger. */
  readonly bytes: bigint
}

/** Shard of the ledger. */
export interface ClusterShard {
  readonly shard: number
  readonly node: string
  /** Physical shard of its head; other shards of the ledger may share it. */
  readonly physical: bigint
  readonly entries: bigint
  /** Size of the physical shard, with its indexes. */
  readonly bytes: bigint
}

export interface ClusterStatus {
  readonly nodes: readonly ClusterNode[]
  readonly shards: readonly ClusterShard[]
}

type Place = Pick<ClusterShard, 'physical' | 'node' | 'bytes'>

/** Reads the nodes of the cluster and the shards of the ledger on them. */
export async function readClusterStatus(client: ClientBase): Promise<ClusterStatus> {
  const { rows: heads } = await client.query<{ shard: number; entries: bigint }>(
    'SELECT shard, seq AS entries FROM ledger.head ORDER BY shard',
  )
  const { rows: places } = await client.query<Place>(
    `SELECT h.shardid AS physical, s.nodename || ':' || s.nodeport AS node,
       sum(s.shard_size)::bigint AS bytes
     FROM pg_dist_shard h
     JOIN pg_dist_partition l ON l.logicalrelid = h.logicalrelid
     JOIN pg_dist_partition o ON o.colocationid = l.colocationid
     JOIN pg_dist_shard p ON p.logicalrelid = o.logicalrelid AND p.shardminvalue = h.shardminvalue
     JOIN citus_shards s ON s.shardid = p.shardid
     WHERE h.logicalrelid = 'ledger.head'::regclass GROUP BY 1, 2`,
  )
  const byId = new Map(places.map((place) => [place.physical, place]))
  const { rows: ids } = await client.query<{ shard: number; physical: bigint }>(
    `SELECT u.shard, get_shard_id_for_distribution_column('ledger.head', u.shard) AS physical
     FROM unnest($1::smallint[]) u(shard)`,
    [heads.map(({ shard }) => shard)],
  )
  const physicalOf = new Map(ids.map(({ shard, physical }) => [shard, physical]))
  const shards = heads.map(({ shard, entries }) => {
    const physical = physicalOf.get(shard)!
    const { node, bytes } = byId.get(physical)!
    return { shard, node, physical, entries, bytes }
  })
  return { nodes: await readNodes(client, places, shards), shards }
}

async function readNodes(
  client: ClientBase,
  places: readonly Place[],
  shards: readonly ClusterShard[],
): Promise<readonly ClusterNode[]> {
  const { rows } = await client.query<Omit<ClusterNode, 'shards' | 'bytes'>>(
    `SELECT nodename || ':' || nodeport AS node, groupid = 0 AS "isCoordinator",
       isactive AS "isActive", shouldhaveshards AS "storesShards"
     FROM pg_dist_node WHERE noderole = 'primary' ORDER BY groupid`,
  )
  return rows.map((node) => ({
    ...node,
    shards: shards.filter((shard) => shard.node === node.node).length,
    bytes: places.reduce((sum, place) => sum + (place.node === node.node ? place.bytes : 0n), 0n),
  }))
}

/** Lists what keeps the cluster from working; empty if nothing does. */
export async function checkCluster(client: ClientBase): Promise<readonly string[]> {
  return [
    ...(await checkConnections(client)),
    ...(await checkShardFunctions(client)),
    ...(await listUnadapted(client)).map(
      (signature) => `${signature} was replaced by a migration: run "npm run migrate"`,
    ),
  ]
}

async function checkConnections(client: ClientBase): Promise<readonly string[]> {
  const { rows } = await client.query<{ from: string; to: string }>(
    `SELECT from_nodename || ':' || from_nodeport AS from, to_nodename || ':' || to_nodeport AS to
     FROM citus_check_cluster_node_health() WHERE result IS NOT TRUE`,
  )
  return rows.map(({ from, to }) => `${from} cannot reach ${to}`)
}

/** Finds nodes that lack functions of physical shards, which may move there. */
async function checkShardFunctions(client: ClientBase): Promise<readonly string[]> {
  const { rows: expected } = await client.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM pg_dist_shard
     WHERE logicalrelid = 'ledger.head'::regclass`,
  )
  const { rows } = await client.query<{ node: string; success: boolean; result: string }>(
    `SELECT n.nodename || ':' || n.nodeport AS node, r.success, r.result
     FROM run_command_on_all_nodes($1) r JOIN pg_dist_node n ON n.nodeid = r.nodeid`,
    [
      `SELECT count(*) FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace
        AND proname ~ '^apply_on_[0-9]+$'`,
    ],
  )
  return rows.flatMap(({ node, success, result }) => {
    if (!success) return [`${node}: ${result}`]
    const lacks = Number(result) !== expected[0]!.count
    return lacks ? [`${node} lacks functions of the ledger: run "npm run migrate"`] : []
  })
}
