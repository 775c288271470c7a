import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { unrefSleep } from '../../clock.ts'
import { createPool, type PoolOptions } from '../pool.ts'
import { isDistributed } from './is-distributed.ts'

/** Database that posts the batches of one shard. */
export interface ShardDatabase {
  query<Row extends QueryResultRow>(config: QueryConfig<unknown[]>): Promise<QueryResult<Row>>
}

/** Pause after the worker of a shard could not be found or reached. */
const RETRY_MS = 5_000

/**
 * Connections straight to the workers of a cluster, so that a batch costs the coordinator nothing.
 * While it is not known which worker has a shard, and after any error there, its batches go by way
 * of the coordinator. Each worker checks that it has the shard.
 */
export class ShardConnections {
  readonly #coordinator: Pool
  readonly #options: PoolOptions
  /**
   * Pools by shard and connection string. Each has one connection, which plans the functions of one
   * physical shard only.
   */
  readonly #workers = new Map<string, Pool>()
  /** Pools of the workers that were found, by shard. */
  readonly #found = new Map<number, Pool>()
  /** Shards whose worker is being searched for, or was not found a moment ago. */
  readonly #searching = new Set<number>()
  #isClosed = false

  /** @param options of the pools, with the login of the coordinator's */
  constructor(coordinator: Pool, options: PoolOptions) {
    this.#coordinator = coordinator
    this.#options = options
  }

  databaseOf(shard: number): ShardDatabase {
    return { query: (config) => this.#query(shard, config) }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#workers.values()].map((each) => each.end()))
  }

  async #query<Row extends QueryResultRow>(
    shard: number,
    config: QueryConfig<unknown[]>,
  ): Promise<QueryResult<Row>> {
    const pool = this.#found.get(shard)
    if (pool === undefined) {
      void this.#search(shard)
      return this.#coordinator.query<Row>(config)
    }
    try {
      return await pool.query<Row>(config)
    } catch (error) {
      if (this.#found.get(shard) === pool) this.#found.delete(shard)
      throw error
    }
  }

  /** Finds the worker of a shard and connects to it. */
  async #search(shard: number): Promise<void> {
    if (this.#searching.has(shard)) return
    this.#searching.add(shard)
    try {
      const pool = await this.#poolOf(shard)
      await pool.query('SELECT')
      this.#found.set(shard, pool)
    } catch {
      await unrefSleep(RETRY_MS)
    } finally {
      this.#searching.delete(shard)
    }
  }

  async #poolOf(shard: number): Promise<Pool> {
    const { rows } = await this.#coordinator.query<{ host: string; port: number; group: number }>(
      `SELECT n.nodename AS host, n.nodeport AS port, n.groupid AS group
       FROM pg_dist_placement p JOIN pg_dist_node n ON n.groupid = p.groupid
       WHERE p.shardid = get_shard_id_for_distribution_column('ledger.head', $1::smallint)
         AND p.shardstate = 1 AND n.isactive AND n.noderole = 'primary'`,
      [shard],
    )
    const [row] = rows
    if (row === undefined) throw new Error(`no server has shard ${shard}`)
    if (this.#isClosed) throw new Error('the connections are closed')
    if (row.group === 0) return this.#coordinator
    const url = new URL(this.#coordinator.options.connectionString!)
    url.hostname = row.host
    url.port = String(row.port)
    const key = `${shard} ${url.href}`
    const known = this.#workers.get(key)
    if (known !== undefined) return known
    const opened = createPool(url.href, { ...this.#options, max: 1, maxAtFirst: 1 })
    this.#workers.set(key, opened)
    return opened
  }
}

/** Opens connections to the workers of a cluster; undefined if one server has the ledger. */
export const openShardConnections = async (
  pool: Pool,
  options: PoolOptions,
): Promise<ShardConnections | undefined> =>
  pool.options.connectionString !== undefined && (await isDistributed(pool))
    ? new ShardConnections(pool, options)
    : undefined
