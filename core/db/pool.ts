import { callbackify } from 'node:util'
import knex, { type Knex } from 'knex'
import {
  Client,
  type ClientBase,
  type CustomTypesConfig,
  Pool,
  type PoolConfig,
  types as pgTypes,
} from 'pg'

export interface PoolOptions {
  /** Most connections at a time. @defaultValue 10 */
  readonly max?: number
  /** Role that every connection takes from its first statement on, such as `hub_app`. */
  readonly role?: string
  /** The schema in which names are looked up first. @defaultValue that of the login */
  readonly schema?: string
  /** Whether `url` logs in as the role: then nothing that is asked of it can take another one. */
  readonly asItself?: boolean
  /**
   * Whether `url` is a pooler's that gives connections out by the transaction (PgBouncer): then
   * nothing is left in a session. The login has the role by itself, and its own time limits.
   */
  readonly pooled?: boolean
  /** Shown by the database beside the connection. @defaultValue agenthub */
  readonly applicationName?: string
  /** Longest a statement may run, in ms; 0: no limit. @defaultValue 30000 */
  readonly statementMs?: number
  /** Longest a statement may wait for a lock, in ms; 0: no limit. @defaultValue 10000 */
  readonly lockMs?: number
  /**
   * Longest to wait for an answer, in ms: also when the network lost the server, which then cannot
   * keep its own limits. The connection is given up. 0: no limit. @defaultValue 0
   */
  readonly answerMs?: number
  /** Hears of lost connections. Whoever was using one gets the error from its query as well. */
  readonly onError?: (error: Error) => void
}

/** Ms that an idle connection is kept: to make one, and what it reads first, may take a page 50. */
const IDLE_MS = 300_000

const INT8 = 20
const INT8_ARRAY = 1_016
const DATE = 1_082

/**
 * How values arrive: int8 as BigInt (money does not fit a double), date as text (pg would make it
 * midnight in the zone of the process), all else as pg does it; numeric stays text.
 */
const types: CustomTypesConfig = {
  getTypeParser(oid, format) {
    const type: number = oid
    if (format !== 'binary') {
      if (type === INT8) return BigInt
      if (type === INT8_ARRAY) return int8Array
      if (type === DATE) return String
    }
    return pgTypes.getTypeParser(oid, format)
  },
}

/** The text of an int8[] of any dimensions; JSON writes arrays the same way but for the braces. */
function int8Array(text: string): unknown {
  const json = text
    .replace(/^\[[^=]*=/, '') // bounds other than 1, as in [0:1]={1,2}
    .replaceAll('{', '[')
    .replaceAll('}', ']')
    .replaceAll('NULL', 'null')
    .replace(/-?\d+/g, '"$&"')
  return JSON.parse(json, (_, value) => (typeof value === 'string' ? BigInt(value) : value))
}

/**
 * A pool of connections to `url`. A lost connection never ends the process; the next query gets
 * another one. With `role`, a connection that did not take it is refused (PgBouncer may drop
 * startup options), since it would have the rights of the login.
 */
export function createPool(url: string, options: PoolOptions = {}): Pool {
  const { max = 10, role, applicationName = 'agenthub', onError = () => {} } = options
  const { statementMs = 30_000, lockMs = 10_000, answerMs = 0, pooled = false } = options
  const pool = new Pool({
    connectionString: url,
    max,
    application_name: applicationName,
    ...(pooled ? { Client: Nameless } : { statement_timeout: statementMs, lock_timeout: lockMs }),
    query_timeout: answerMs,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    types,
    ...(role === undefined ? {} : takeRole(role, options)),
  })
  const report = (error: Error): void => {
    if (!pool.ending) onError(error) // as we leave, the server may leave too
  }
  pool.on('error', report)
  // An idle connection reports to the pool; one that is checked out only to its own listeners.
  pool.on('connect', (client) => client.on('error', report))
  return pool
}

/** The role is taken at connect, and a connection is not lent out before it was seen to have it. */
const takeRole = (role: string, { pooled, schema, asItself }: PoolOptions): PoolConfig => ({
  ...(pooled ? {} : { options: `-c role=${role}${schema ? ` -c search_path=${schema}` : ''}` }),
  verify: (client, done) => {
    const seen = asItself ? requireLogin : requireRole
    callbackify(seen)(client, role, (error) => done(error ?? undefined))
  },
})

/** @throws Error unless whoever is connected is this role, and has never been another one */
export async function requireLogin(client: ClientBase, role: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>('SELECT session_user AS name')
  if (rows[0]?.name === role) return
  throw new Error(`The database connection is that of ${rows[0]?.name} instead of ${role}.`)
}

async function requireRole(client: ClientBase, role: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>('SELECT current_user AS name')
  if (rows[0]?.name === role) return
  throw new Error(
    `The database connection has the role ${rows[0]?.name} instead of ${role}. Connect directly, ` +
      'or tell of the pooler between: set DATABASE_DIRECT_URL, and make the login of ' +
      'DATABASE_URL ' +
      `take the role: ALTER ROLE … SET role = ${role}.`,
  )
}

/** Prepares no statement under a name: the next transaction may meet another connection. */
class Nameless extends Client {
  constructor(...options: ConstructorParameters<typeof Client>) {
    super(...options)
    const ask = this.query.bind(this) as (...args: unknown[]) => unknown
    const nameless = (query: unknown, ...rest: unknown[]): unknown => ask(unnamed(query), ...rest)
    this.query = nameless as typeof this.query
  }
}

const unnamed = (query: unknown): unknown =>
  typeof query === 'object' && query !== null && 'name' in query && !('submit' in query)
    ? { ...query, name: undefined }
    : query

/** A query builder over the connections of `pool`. Ending the pool ends it; it owns nothing. */
export const createKnex = (pool: Pool): Knex =>
  knex({ client: 'pg', connectionPool: pool } as Knex.Config)
