import { realpath } from 'node:fs/promises'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, type Pool } from 'pg'
import { z } from 'zod'
import { patience } from '../clock.ts'
import { makeLogin } from '../db/login.ts'
import { migrate } from '../db/migrate.ts'
import { createPool } from '../db/pool.ts'
import type { Log } from '../log.ts'
import { UnderWay } from '../runtime/pending-tasks.ts'
import { SESSIONS_MAX } from './limits.ts'
import { type Came, packed, received } from './rows.ts'
import { DatabaseRefusal, over, Session } from './session.ts'

export interface Loan {
  /** Of the owner, without a pooler between. */
  readonly url: string
  /** The role, and the schema of its name. */
  readonly role: string
  /** With which every process of the hub connects as the role. */
  readonly password: string
  /** The plugin's files: its migrations lie among them. */
  readonly folder: string
  readonly log: Log
  /** How long a statement or a transaction may take. */
  readonly leaseMs?: number
}

const LEASE_MS = 30_000
const MIGRATE_MS = 60_000
/** Transactions that a plugin has begun and not ended: those that took too long count too. */
const BEGUN_MAX = 64
/** PostgreSQL counts them in two bytes. */
const VALUES_MAX = 65_535

const number = z.int().min(0)
const Request = z.discriminatedUnion('do', [
  z.object({ do: z.literal('migrate'), folder: z.string().max(4_096) }),
  z.object({
    do: z.literal('query'),
    transaction: number.optional(),
    text: z.string().refine((text) => !text.includes('\0')),
    values: z.array(z.unknown()).max(VALUES_MAX),
  }),
  z.object({ do: z.literal('begin'), transaction: number, reading: z.boolean() }),
  z.object({ do: z.literal('end'), transaction: number, commit: z.boolean() }),
])

type Request = z.infer<typeof Request>

const BEGIN = { false: 'BEGIN', true: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' } as const

/**
 * The database of a plugin that runs apart. The plugin says statements; they run here, over
 * connections whose login is the plugin's own role, so that no statement comes by another one.
 * Nothing stays in a connection that is given back, and what takes too long or answers too much
 * ends with its connection.
 */
export class LentDatabase {
  readonly #loan: Loan
  readonly #pool: Pool
  readonly #sessions = new Set<Session>()
  readonly #transactions = new Map<number, Promise<Session>>()
  readonly #underWay = new UnderWay()
  readonly #loginUrl: string
  #isMigrating = false
  #problem: Error | undefined

  private constructor(loan: Loan, loginUrl: string) {
    const { role, log, leaseMs = LEASE_MS } = loan
    this.#loan = loan
    this.#loginUrl = loginUrl
    this.#pool = createPool(loginUrl, {
      role,
      schema: role,
      asItself: true,
      max: SESSIONS_MAX,
      statementMs: leaseMs,
      applicationName: `agenthub ${role}`,
      onError: (error) => log.warn({ err: error, role }, 'a connection of a plugin broke'),
    })
  }

  /** Makes the role and its schema where they are absent. @throws Error when that fails */
  static async open(loan: Loan): Promise<LentDatabase> {
    return new LentDatabase(loan, await makeLogin(loan.url, loan.role, loan.password))
  }

  /** Why its migrations could not be applied: for the operator. */
  get problem(): Error | undefined {
    return this.#problem
  }

  /**
   * @returns rows, as `packed`
   * @throws DatabaseRefusal, or an Error for what is no request
   */
  async answer(asked: unknown, signal: AbortSignal): Promise<string> {
    const request = Request.parse(asked)
    if (request.do === 'migrate') return packed(await this.#migrate(request.folder))
    if (request.do === 'begin') return packed(await this.#begin(request, signal))
    if (request.do === 'end') return packed(await this.#end(request))
    const { transaction, text } = request
    const values = request.values.map((value) => received(value))
    if (transaction !== undefined)
      return packed(await (await this.#at(transaction)).run(text, values))
    const session = await this.#take(signal)
    try {
      return packed(await session.run(text, values))
    } finally {
      this.#giveBack(session)
    }
  }

  /** Rolls back whatever is under way: whoever began it is gone. */
  giveUpAll(): void {
    this.#transactions.clear()
    for (const session of this.#sessions) session.end(over())
    this.#sessions.clear()
  }

  async close(): Promise<void> {
    this.giveUpAll()
    await this.#underWay.idle()
    await this.#pool.end()
  }

  async #migrate(url: string): Promise<Came> {
    const { role, log } = this.#loan
    if (this.#isMigrating) throw new DatabaseRefusal('55006', 'Migrations are being applied.')
    this.#isMigrating = true
    const applied = this.#applyFiles(url)
    try {
      const isDone = await Promise.race([applied.then(() => true), patience(MIGRATE_MS)])
      if (isDone) return NOTHING
      await this.#terminate()
      throw new Error(`migrations have ${MIGRATE_MS / 1_000} seconds`)
    } catch (error) {
      this.#problem = error as Error
      log.error({ err: error, role }, "a plugin's migrations could not be applied")
      throw new DatabaseRefusal('55000', 'The migrations could not be applied.')
    } finally {
      this.#isMigrating = false
    }
  }

  async #applyFiles(url: string): Promise<void> {
    const { folder, role, log } = this.#loan
    const files = await realpath(fileURLToPath(url))
    if (!files.startsWith(folder + sep)) throw new Error('its migrations are none of its files')
    const tell = (text: string): void => log.info(`${role}: ${text}`)
    await migrate(this.#loginUrl, { folder: files, schema: role, asItself: true, log: tell })
  }

  async #begin(
    { transaction, reading }: Extract<Request, { do: 'begin' }>,
    signal: AbortSignal,
  ): Promise<Came> {
    const begun = this.#transactions
    if (begun.has(transaction) || begun.size >= BEGUN_MAX) throw over()
    const opening = this.#opened(BEGIN[`${reading}`], signal)
    begun.set(transaction, opening)
    try {
      await opening
      return NOTHING
    } catch (error) {
      if (begun.get(transaction) === opening) begun.delete(transaction)
      throw error
    }
  }

  async #opened(begin: string, signal: AbortSignal): Promise<Session> {
    const session = await this.#take(signal)
    try {
      await session.run(begin)
      return session
    } catch (error) {
      this.#giveBack(session)
      throw error
    }
  }

  async #end({ transaction, commit }: Extract<Request, { do: 'end' }>): Promise<Came> {
    const session = await this.#at(transaction)
    this.#transactions.delete(transaction)
    try {
      if (!commit) return NOTHING // what is given back is rolled back
      const { command } = await session.run('COMMIT')
      if (command === 'COMMIT') return NOTHING
      throw new DatabaseRefusal(
        '25P02',
        'A statement of the transaction failed: it is rolled back.',
      )
    } finally {
      this.#giveBack(session)
    }
  }

  #at(transaction: number): Promise<Session> {
    const session = this.#transactions.get(transaction)
    if (!session) throw over()
    return session
  }

  async #take(signal: AbortSignal): Promise<Session> {
    const client = await this.#pool.connect().catch((error: Error) => {
      this.#loan.log.warn({ err: error, role: this.#loan.role }, 'a plugin has no database')
      throw new DatabaseRefusal('08006', 'The database cannot be reached.')
    })
    const session = new Session(client, this.#loan.leaseMs ?? LEASE_MS, (pid) => {
      void this.#underWay.add(this.#terminate(pid))
    })
    if (signal.aborted) session.end(over())
    this.#sessions.add(session)
    return session
  }

  #giveBack(session: Session): void {
    this.#sessions.delete(session)
    void this.#underWay.add(session.giveBack())
  }

  /** Ends a session of the role, or all of them: a statement could catch that it is cancelled. */
  async #terminate(pid?: number): Promise<void> {
    const { url, role, log } = this.#loan
    const client = new Client({ connectionString: url, application_name: 'agenthub terminate' })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE usename = $1 AND datname = current_database() AND pid = coalesce($2, pid)`,
        [role, pid],
      )
    } catch (error) {
      log.warn({ err: error, role }, 'a session of a plugin could not be ended')
    } finally {
      await client.end().catch(() => undefined)
    }
  }
}

const NOTHING: Came = { fields: [], rows: [], rowCount: null }
