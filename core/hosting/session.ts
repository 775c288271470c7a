import type { DatabaseError, PoolClient, QueryArrayResult } from 'pg'
import type { Came } from './rows.ts'

/** Of what a statement answers, in bytes of PostgreSQL's protocol. */
const BYTES_MAX = 4 * 1_048_576

/** What a plugin that runs apart is told of its database. `code` is an SQLSTATE. */
export class DatabaseRefusal extends Error {
  readonly code: string
  readonly more: Readonly<Record<string, string>>
  constructor(code: string, message: string, more: Readonly<Record<string, string>> = {}) {
    super(message)
    this.code = code
    this.more = more
  }
}

const TOLD = ['detail', 'hint', 'constraint', 'table', 'column', 'position'] as const

/** What the database said of a statement; of a lost connection no more than that. */
function refusalOf(error: unknown): DatabaseRefusal {
  if (error instanceof DatabaseRefusal) return error
  const { code = '', message, ...rest } = error as DatabaseError
  const isOfStatement = /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|28|57P)/.test(code)
  if (!isOfStatement) return new DatabaseRefusal('08006', 'The database cannot be reached.')
  const more = TOLD.flatMap((name) => (rest[name] ? [[name, rest[name].slice(0, 2_000)]] : []))
  return new DatabaseRefusal(code, message.slice(0, 2_000), Object.fromEntries(more))
}

const tooLarge = (): DatabaseRefusal =>
  new DatabaseRefusal('54000', `A statement answers ${BYTES_MAX} bytes at most: ask for less.`)

/** What a role's session may not outlast: the server is told to end it, which no SQL can catch. */
type Terminate = (pid: number) => void

/** A connection, lent for a statement or a transaction. It may be ended while it is at work. */
export class Session {
  readonly #client: PoolClient & { readonly processID?: number }
  readonly #terminate: Terminate
  readonly #timer: NodeJS.Timeout
  #turn: Promise<unknown> = Promise.resolve()
  #bytes = 0
  /** Why nothing more is run. */
  #over: DatabaseRefusal | undefined
  #released = false

  constructor(client: PoolClient, leaseMs: number, terminate: Terminate) {
    this.#client = client
    this.#terminate = terminate
    this.#timer = setTimeout(() => this.end(late(leaseMs)), leaseMs).unref()
    client.connection.stream.on('data', this.#count)
  }

  /** Statements run one after the other: what each answers is counted. @throws DatabaseRefusal */
  run(text: string, values: readonly unknown[] = []): Promise<Came> {
    const work = this.#turn.then(() => this.#run(text, values))
    this.#turn = work.catch(() => undefined)
    return work
  }

  /** Ends it whatever it is at; the server rolls back. */
  end(why: DatabaseRefusal): void {
    if (this.#released) return
    this.#over ??= why
    if (this.#client.processID !== undefined) this.#terminate(this.#client.processID)
    this.#release(true)
  }

  /** Gives the connection back as it was: no transaction, lock, setting or table is left. */
  async giveBack(): Promise<void> {
    this.#over ??= over()
    await this.#turn
    if (this.#released) return
    try {
      if (this.#client.getTransactionStatus() !== 'I') await this.#client.query('ROLLBACK')
      await this.#client.query('DISCARD ALL')
      if (!this.#released) this.#release(false)
    } catch {
      this.end(over())
    }
  }

  async #run(text: string, values: readonly unknown[]): Promise<Came> {
    if (this.#over) throw this.#over
    this.#bytes = 0
    try {
      const came: QueryArrayResult | QueryArrayResult[] = await this.#client.query({
        text,
        values: [...values],
        rowMode: 'array',
      })
      return Array.isArray(came) ? came.at(-1)! : came // of several statements at once: a list
    } catch (error) {
      throw this.#over ?? refusalOf(error)
    }
  }

  #release(broken: boolean): void {
    this.#released = true
    clearTimeout(this.#timer)
    this.#client.connection.stream.off('data', this.#count)
    this.#client.release(broken)
  }

  readonly #count = (chunk: Buffer): void => {
    this.#bytes += chunk.length
    if (this.#bytes > BYTES_MAX) this.end(tooLarge())
  }
}

const late = (ms: number): DatabaseRefusal =>
  new DatabaseRefusal('57014', `A statement or a transaction has ${ms / 1_000} seconds.`)

export const over = (): DatabaseRefusal =>
  new DatabaseRefusal('25P01', 'There is no such transaction: it is over.')
