import { realpath } from 'node:fs/promises'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Client, PoolClient } from 'pg'
import { z } from 'zod'
import { unrefSleep } from '../clock.ts'
import { connectClient } from '../db/client.ts'
import { migrate } from '../db/migrate.ts'
import type { Log } from '../log.ts'
import { singleFlight } from '../runtime/cache.ts'
import { PendingTasks } from '../runtime/pending-tasks.ts'
import { DatabaseRequestError, DatabaseSession, noSuchTransaction } from './database-session.ts'
import { type Login, openLogin } from './plugin-login.ts'
import { decodeValue, packRows, type StatementResult } from './rows.ts'

export interface InjectedDatabaseOptions {
  /** Direct connection string of the owner; undefined: the login of the plugin exists already. */
  readonly ownerUrl: string | undefined
  /** Direct connection string of a login that may take on the role. */
  readonly servingUrl: string
  /** Role of the plugin, and name of its schema. */
  readonly role: string
  /** Returns the valid passwords of the role, the current one first: in every process the same. */
  readonly passwords: () => readonly [string, ...string[]]
  /** Reads the passwords again, after the server refused one. @defaultValue it never changes */
  readonly reloadPasswords?: (() => Promise<void>) | undefined
  /** Folder of the plugin, which must contain its migrations. */
  readonly folder: string
  readonly log: Log
  /** Time limit of a statement or a transaction. @defaultValue 30000 */
  readonly timeLimitMs?: number
}

type LimitedOptions = InjectedDatabaseOptions & { readonly timeLimitMs: number }

const TIME_LIMIT_MS = 30_000
const MIGRATE_MS = 60_000
/** Maximum number of open transactions, including those that timed out. */
const OPEN_TRANSACTIONS_MAX = 64
/** Maximum number of statement parameters: PostgreSQL counts them in two bytes. */
const PARAMETERS_MAX = 65_535

const number = z.int().min(0)
const Request = z.discriminatedUnion('do', [
  z.object({ do: z.literal('migrate'), folder: z.string().max(4_096) }),
  z.object({
    do: z.literal('query'),
    transaction: number.optional(),
    text: z.string().refine((text) => !text.includes('\0')),
    values: z.array(z.unknown()).max(PARAMETERS_MAX),
  }),
  z.object({ do: z.literal('begin'), transaction: number, reading: z.boolean() }),
  z.object({ do: z.literal('end'), transaction: number, commit: z.boolean() }),
])

type Request = z.infer<typeof Request>

const BEGIN = { false: 'BEGIN', true: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' } as const

/**
 * Hub side of the database of an isolated plugin. Executes the plugin's statements on connections
 * that log in as the plugin's own role, so that no statement can get another one. Released
 * connections keep no session state; a statement that takes too long or returns too much is
 * terminated together with its connection.
 */
export class InjectedDatabase {
  readonly #options: LimitedOptions
  #login: Login
  readonly #sessions = new Set<DatabaseSession>()
  readonly #transactions = new Map<number, Promise<DatabaseSession>>()
  readonly #cleanup = new PendingTasks()
  /** Logs in anew, for all callers at once. */
  readonly #renewLogin = singleFlight<'', void>(() => this.#logIn())
  #isMigrating = false
  #migrationError: Error | undefined

  private constructor(options: LimitedOptions, login: Login) {
    this.#options = options
    this.#login = login
  }

  /** Creates the role and its schema if missing, and opens the database. */
  static async open(options: InjectedDatabaseOptions): Promise<InjectedDatabase> {
    const limited = { timeLimitMs: TIME_LIMIT_MS, ...options }
    return new InjectedDatabase(limited, await openLogin(limited))
  }

  /** Error of the last failed migration, for the operator. */
  get migrationError(): Error | undefined {
    return this.#migrationError
  }

  /**
   * Handles a request of the plugin.
   * @returns rows, encoded by `packRows`
   * @throws DatabaseRequestError, or another Error for an invalid request
   */
  async answer(message: unknown, signal: AbortSignal): Promise<string> {
    const request = Request.parse(message)
    if (request.do === 'migrate') return packRows(await this.#migrate(request.folder))
    if (request.do === 'begin') return packRows(await this.#begin(request, signal))
    if (request.do === 'end') return packRows(await this.#end(request))
    const { transaction, text } = request
    const values = request.values.map((value) => decodeValue(value))
    if (transaction !== undefined)
      return packRows(await (await this.#sessionOf(transaction)).run(text, values))
    const session = await this.#connect(signal)
    try {
      return packRows(await session.run(text, values))
    } finally {
      this.#release(session)
    }
  }

  /** Rolls back all open transactions, after the plugin has exited. */
  rollBackAll(): void {
    this.#transactions.clear()
    for (const session of this.#sessions) session.end(noSuchTransaction())
    this.#sessions.clear()
  }

  async close(): Promise<void> {
    this.rollBackAll()
    await this.#cleanup.idle()
    await this.#login.pool.end()
  }

  /** Logs in again if the password has changed. Connections of the old login end when released. */
  async #followPassword(): Promise<void> {
    const [password] = this.#options.passwords()
    if (password !== this.#login.password) await this.#renewLogin('')
  }

  async #logIn(): Promise<void> {
    const previous = this.#login
    this.#login = await openLogin(this.#options)
    void this.#cleanup.add(previous.pool.end())
  }

  async #checkOut(): Promise<PoolClient> {
    await this.#followPassword()
    try {
      return await this.#login.pool.connect()
    } catch (error) {
      // Another process has changed the password.
      if ((error as { code?: string }).code !== WRONG_PASSWORD) throw error
      await this.#options.reloadPasswords?.()
      await this.#renewLogin('')
      return this.#login.pool.connect()
    }
  }

  async #migrate(url: string): Promise<StatementResult> {
    const { role, log } = this.#options
    if (this.#isMigrating) throw new DatabaseRequestError('55006', 'Migrations are being applied.')
    this.#isMigrating = true
    const applied = this.#applyFiles(url)
    try {
      const isDone = await Promise.race([applied.then(() => true), unrefSleep(MIGRATE_MS)])
      if (isDone) return NO_ROWS
      await this.#terminate()
      throw new Error(`migrations have ${MIGRATE_MS / 1_000} seconds`)
    } catch (error) {
      this.#migrationError = error as Error
      log.error({ err: error, role }, "a plugin's migrations could not be applied")
      throw new DatabaseRequestError('55000', 'The migrations could not be applied.')
    } finally {
      this.#isMigrating = false
    }
  }

  async #applyFiles(url: string): Promise<void> {
    const { folder, role, log } = this.#options
    const files = await realpath(fileURLToPath(url))
    if (!files.startsWith(folder + sep)) throw new Error('its migrations are none of its files')
    const tell = (text: string): void => log.info(`${role}: ${text}`)
    await this.#followPassword()
    await migrate(this.#login.url, { folder: files, schema: role, isRoleLogin: true, log: tell })
  }

  async #begin(
    { transaction, reading }: Extract<Request, { do: 'begin' }>,
    signal: AbortSignal,
  ): Promise<StatementResult> {
    const transactions = this.#transactions
    if (transactions.has(transaction) || transactions.size >= OPEN_TRANSACTIONS_MAX)
      throw noSuchTransaction()
    const opening = this.#openSession(BEGIN[`${reading}`], signal)
    transactions.set(transaction, opening)
    try {
      await opening
      return NO_ROWS
    } catch (error) {
      if (transactions.get(transaction) === opening) transactions.delete(transaction)
      throw error
    }
  }

  async #openSession(begin: string, signal: AbortSignal): Promise<DatabaseSession> {
    const session = await this.#connect(signal)
    try {
      await session.run(begin)
      return session
    } catch (error) {
      this.#release(session)
      throw error
    }
  }

  async #end({ transaction, commit }: Extract<Request, { do: 'end' }>): Promise<StatementResult> {
    const session = await this.#sessionOf(transaction)
    this.#transactions.delete(transaction)
    try {
      if (!commit) return NO_ROWS // what is given back is rolled back
      const { command } = await session.run('COMMIT')
      if (command === 'COMMIT') return NO_ROWS
      throw new DatabaseRequestError(
        '25P02',
        'A statement of the transaction failed: it is rolled back.',
      )
    } finally {
      this.#release(session)
    }
  }

  #sessionOf(transaction: number): Promise<DatabaseSession> {
    const session = this.#transactions.get(transaction)
    if (!session) throw noSuchTransaction()
    return session
  }

  async #connect(signal: AbortSignal): Promise<DatabaseSession> {
    const client = await this.#checkOut().catch((error: Error) => {
      this.#options.log.warn({ err: error, role: this.#options.role }, 'a plugin has no database')
      throw new DatabaseRequestError('08006', 'The database cannot be reached.')
    })
    const session = new DatabaseSession(client, this.#options.timeLimitMs, (pid) => {
      void this.#cleanup.add(this.#terminate(pid))
    })
    if (signal.aborted) session.end(noSuchTransaction())
    this.#sessions.add(session)
    return session
  }

  #release(session: DatabaseSession): void {
    this.#sessions.delete(session)
    void this.#cleanup.add(session.release())
  }

  /** Terminates a session of the role, or all of them; SQL could catch a mere cancellation. */
  async #terminate(pid?: number): Promise<void> {
    const { servingUrl: connectionString, role, log } = this.#options
    const name = 'agenthub terminate'
    const options = `-c role=${role}`
    let client: Client | undefined
    try {
      client = await connectClient(connectionString, name, { options })
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE usename = $1 AND datname = current_database() AND pid = coalesce($2, pid)`,
        [role, pid],
      )
    } catch (error) {
      log.warn({ err: error, role }, 'a session of a plugin could not be ended')
    } finally {
      await client?.end().catch(() => undefined)
    }
  }
}

/** SQLSTATE `invalid_password`. */
const WRONG_PASSWORD = '28P01'

const NO_ROWS: StatementResult = { fields: [], rows: [], rowCount: null }
