import { callbackify } from 'node:util'
import {
  Client,
  type ClientBase,
  type CustomTypesConfig,
  Pool,
  type PoolConfig,
  types as pgTypes,
} from 'pg'
import { unrefSleep } from '../clock.ts'
import { KEEP_ALIVE } from './client.ts'
import { endAfterFailover } from './failover.ts'

export interface PoolOptions {
  /** Maximum number of connections. @defaultValue 10 */
  readonly max?: number
  /**
   * Maximum number of connections in the first seconds of a process, when a new one takes longer
   * than the queries that wait for it. @defaultValue max
   */
  readonly maxAtFirst?: number
  /** Role of every connection from its first statement on, such as `hub_app`. */
  readonly role?: string
  /** Search path. @defaultValue that of the login */
  readonly schema?: string
  /** True if `url` logs in as the role, so that no statement can switch to another one. */
  readonly isRoleLogin?: boolean
  /** True for short queries: without JIT and parallel workers, whose start takes longer. */
  readonly isShort?: boolean
  /** True if `url` is a transaction pooler; the login itself must have the role and limits. */
  readonly pooled?: boolean
  /** Name in `pg_stat_activity`. @defaultValue agenthub */
  readonly applicationName?: string
  /** Statement timeout; 0: no limit. @defaultValue 30000 */
  readonly statementMs?: number
  /** Lock timeout; 0: no limit. @defaultValue 10000 */
  readonly lockMs?: number
  /** Client-side query timeout, which closes the connection. 0: no limit. @defaultValue 0 */
  readonly responseMs?: number
  /** Called for lost connections. A query on such a connection rejects as well. */
  readonly onError?: (error: Error) => void
}

/** Milliseconds in which a pool has at most `maxAtFirst` connections. */
const FIRST_MS = 3_000
/** Idle time before a connection is closed. Long, because a new one may delay a page by 50 ms. */
const IDLE_MS = 300_000

const INT8 = 20
const INT8_ARRAY = 1_016
const DATE = 1_082

/** Type parsers: int8 as BigInt (money), date as text (no time zone), all else as pg does. */
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

/** Parses an int8[] of any dimensions by turning its text into JSON. */
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
 * Creates a connection pool. A lost connection does not end the process; the next query gets
 * another one. With `role`, a connection without it is refused (PgBouncer may drop startup
 * options), because it would have the rights of the login.
 */
export function createPool(url: string, options: PoolOptions = {}): Pool {
  const {
    max = 10,
    maxAtFirst = max,
    role,
    applicationName = 'agenthub',
    onError = () => {},
  } = options
  const { statementMs = 30_000, lockMs = 10_000, responseMs = 0, pooled = false } = options
  const pool = new Pool({
    connectionString: url,
    max: maxAtFirst,
    application_name: applicationName,
    ...(pooled
      ? { Client: UnnamedStatementClient }
      : { statement_timeout: statementMs, lock_timeout: lockMs }),
    query_timeout: responseMs,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: IDLE_MS,
    ...KEEP_ALIVE,
    types,
    ...(role === undefined ? {} : roleOptions(role, options)),
  })
  if (maxAtFirst < max) void unrefSleep(FIRST_MS).then(() => (pool.options.max = max))
  const report = (error: Error): void => {
    if (!pool.ending) onError(error) // ignore losses during shutdown
  }
  pool.on('error', report)
  // Idle connections report to the pool, checked-out ones only to their own listeners.
  pool.on('connect', (client) => {
    client.on('error', report)
    endAfterFailover(client)
  })
  return pool
}

/** Sets the role at connect, and verifies it before the connection is used. */
const roleOptions = (role: string, options: PoolOptions): PoolConfig => ({
  ...(options.pooled ? {} : { options: sessionOptions(role, options) }),
  verify: (client, done) => {
    const check = options.isRoleLogin ? assertLogin : assertRole
    callbackify(check)(client, role, (error) => done(error ?? undefined))
  },
})

const SHORT = ' -c jit=off -c max_parallel_workers_per_gather=0'

const sessionOptions = (role: string, { schema, isShort }: PoolOptions): string =>
  `-c role=${role}${schema ? ` -c search_path=${schema}` : ''}${isShort ? SHORT : ''}`

/** @throws Error unless the connection logged in as this role */
export async function assertLogin(client: ClientBase, role: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>('SELECT session_user AS name')
  if (rows[0]?.name === role) return
  throw new Error(`The database connection is logged in as ${rows[0]?.name} instead of ${role}.`)
}

async function assertRole(client: ClientBase, role: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>('SELECT current_user AS name')
  if (rows[0]?.name === role) return
  throw new Error(
    `The database connection has the role ${rows[0]?.name} instead of ${role}. Connect directly, ` +
      'or configure the pooler: set DATABASE_DIRECT_URL, and give the login of DATABASE_URL ' +
      `the role: ALTER ROLE … SET role = ${role}.`,
  )
}

/** Client without named statements: the next transaction may use another server connection. */
class UnnamedStatementClient extends Client {
  constructor(...options: ConstructorParameters<typeof Client>) {
    super(...options)
    const query = this.query.bind(this) as (...args: unknown[]) => unknown
    const queryUnnamed = (config: unknown, ...rest: unknown[]): unknown =>
      query(withoutName(config), ...rest)
    this.query = queryUnnamed as typeof this.query
  }
}

const withoutName = (config: unknown): unknown =>
  typeof config === 'object' && config !== null && 'name' in config && !('submit' in config)
    ? { ...config, name: undefined }
    : config
