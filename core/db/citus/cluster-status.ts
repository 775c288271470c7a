import type { ClientBase } from 'pg'
import { listUnadapted } from './adapt-functions.ts'

/** Node of the cluster. */
export interface ClusterNode {
  /** `host:port`, as other nodes reach it. */
  readonly node: string
  readonly isCoordinator: boolean
  readonly isActive: boolean
  /** False if the coordinator cannot connect to it: its shards are not listed. */
  readonly isReachable: boolean
  /** True if it may store shards. */
  readonly storesShards: boolean
  /** Sessions of this database that execute a statement. */
  readonly activeSessions: number
  /** Log that its slowest standby has not replayed; null without a standby. */
  readonly standbyLagBytes: bigint | null
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

interface Place extends Pick<ClusterShard, 'physical' | 'node'> {
  /** Null if its node is unreachable. */
  readonly bytes: bigint | null
}

/** Reads the nodes of the cluster and the shards of the ledger on those that are reachable. */
export async function readClusterStatus(client: ClientBase): Promise<ClusterStatus> {
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
  const heads = await readHeads(client)
  const shards = heads.map((head) => {
    const { node, bytes } = byId.get(head.physical)!
    return { ...head, node, bytes: bytes ?? 0n }
  })
  return { nodes: await readNodes(client, places, shards), shards }
}

/** Reads the heads shard by shard: a query of all of them would fail if one node is down. */
async function readHeads(
  client: ClientBase,
): Promise<readonly Omit<ClusterShard, 'node' | 'bytes'>[]> {
  const { rows } = await client.query<Omit<ClusterShard, 'node' | 'bytes'>>(
    `SELECT h.shard, r.shardid AS physical, h.seq AS entries
     FROM run_command_on_shards('ledger.head', $1) r
     CROSS JOIN LATERAL json_to_recordset(CASE WHEN r.success THEN nullif(r.result, '') END::json)
       h(shard smallint, seq bigint) ORDER BY h.shard`,
    ['SELECT json_agg(h) FROM (SELECT shard, seq FROM %s) h'],
  )
  return rows
}

/** Query of the state of a node, which responds with JSON. */
const NODE_STATE = `SELECT json_build_object(
  'sessions', (SELECT count(*) FROM pg_stat_activity WHERE state = 'active'
    AND datname = current_database() AND pid <> pg_backend_pid()),
  'lag', (SELECT max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn))::bigint
    FROM pg_stat_replication WHERE application_name NOT LIKE 'citus%'))`

async function readNodes(
  client: ClientBase,
  places: readonly Place[],
  shards: readonly ClusterShard[],
): Promise<readonly ClusterNode[]> {
  const { rows } = await client.query<Omit<ClusterNode, 'shards' | 'bytes'>>(
    `SELECT n.nodename || ':' || n.nodeport AS node, n.groupid = 0 AS "isCoordinator",
       n.isactive AS "isActive", n.shouldhaveshards AS "storesShards",
       coalesce(r.success, false) AS "isReachable",
       coalesce(s.sessions, 0) AS "activeSessions", s.lag AS "standbyLagBytes"
     FROM pg_dist_node n LEFT JOIN run_command_on_all_nodes($1) r USING (nodeid)
     LEFT JOIN LATERAL json_to_record(CASE WHEN r.success THEN r.result END::json)
       s(sessions integer, lag bigint) ON true
     WHERE n.noderole = 'primary' ORDER BY n.groupid`,
    [NODE_STATE],
  )
  return rows.map((node) => ({
    ...node,
    shards: shards.filter((shard) => shard.node === node.node).length,
    bytes: places.reduce(
      (sum, place) => sum + (place.node === node.node ? (place.bytes ?? 0n) : 0n),
      0n,
    ),
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
     FROM citus_check_cluster_node_health() WHERE NOT result`,
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
