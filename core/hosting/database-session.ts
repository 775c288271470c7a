import type { DatabaseError, PoolClient, QueryArrayResult } from 'pg'
import type { StatementResult } from './rows.ts'

/** Maximum result of a statement, in bytes of PostgreSQL's protocol. */
const RESULT_BYTES_MAX = 4 * 1_048_576

/** Database error reported to an isolated plugin. `code` is an SQLSTATE. */
export class DatabaseRequestError extends Error {
  readonly code: string
  readonly fields: Readonly<Record<string, string>>
  constructor(code: string, message: string, fields: Readonly<Record<string, string>> = {}) {
    super(message)
    this.code = code
    this.fields = fields
  }
}

const ERROR_FIELDS = ['detail', 'hint', 'constraint', 'table', 'column', 'position'] as const

/** Converts an error of pg. Only errors of the statement itself keep their details. */
function toRequestError(error: unknown): DatabaseRequestError {
  if (error instanceof DatabaseRequestError) return error
  const { code = '', message, ...rest } = error as DatabaseError
  const isOfStatement = /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|28|57P)/.test(code)
  if (!isOfStatement) return new DatabaseRequestError('08006', 'The database cannot be reached.')
  const fields = ERROR_FIELDS.flatMap((name) =>
    rest[name] ? [[name, rest[name].slice(0, 2_000)]] : [],
  )
  return new DatabaseRequestError(code, message.slice(0, 2_000), Object.fromEntries(fields))
}

const resultTooLarge = (): DatabaseRequestError =>
  new DatabaseRequestError(
    '54000',
    `The result exceeds ${RESULT_BYTES_MAX} bytes: request less data.`,
  )

/** Terminates a backend on the server, which no SQL exception handler can catch. */
type Terminate = (pid: number) => void

/** Connection for one statement or transaction, which can be terminated while it is busy. */
export class DatabaseSession {
  readonly #client: PoolClient & { readonly processID?: number }
  readonly #terminate: Terminate
  readonly #timer: NodeJS.Timeout
  #queue: Promise<unknown> = Promise.resolve()
  #bytes = 0
  /** Error of all further statements. */
  #endReason: DatabaseRequestError | undefined
  #isReleased = false

  constructor(client: PoolClient, timeLimitMs: number, terminate: Terminate) {
    this.#client = client
    this.#terminate = terminate
    this.#timer = setTimeout(() => this.end(timeLimitExceeded(timeLimitMs)), timeLimitMs).unref()
    client.connection.stream.on('data', this.#countBytes)
  }

  /** Queues a statement; statements run one by one. @throws DatabaseRequestError */
  run(text: string, values: readonly unknown[] = []): Promise<StatementResult> {
    const result = this.#queue.then(() => this.#run(text, values))
    this.#queue = result.catch(() => undefined)
    return result
  }

  /** Terminates the connection; the server rolls back. */
  end(reason: DatabaseRequestError): void {
    if (this.#isReleased) return
    this.#endReason ??= reason
    if (this.#client.processID !== undefined) this.#terminate(this.#client.processID)
    this.#releaseClient(true)
  }

  /** Returns the connection without transactions, locks, settings or temporary tables. */
  async release(): Promise<void> {
    this.#endReason ??= noSuchTransaction()
    await this.#queue
    if (this.#isReleased) return
    try {
      if (this.#client.getTransactionStatus() !== 'I') await this.#client.query('ROLLBACK')
      await this.#client.query('DISCARD ALL')
      if (!this.#isReleased) this.#releaseClient(false)
    } catch {
      this.end(noSuchTransaction())
    }
  }

  async #run(text: string, values: readonly unknown[]): Promise<StatementResult> {
    if (this.#endReason) throw this.#endReason
    this.#bytes = 0
    try {
      const came: QueryArrayResult | QueryArrayResult[] = await this.#client.query({
        text,
        values: [...values],
        rowMode: 'array',
      })
      return Array.isArray(came) ? came.at(-1)! : came // of several statements at once: a list
    } catch (error) {
      throw this.#endReason ?? toRequestError(error)
    }
  }

  #releaseClient(broken: boolean): void {
    this.#isReleased = true
    clearTimeout(this.#timer)
    this.#client.connection.stream.off('data', this.#countBytes)
    this.#client.release(broken)
  }

  readonly #countBytes = (chunk: Buffer): void => {
    this.#bytes += chunk.length
    if (this.#bytes > RESULT_BYTES_MAX) this.end(resultTooLarge())
  }
}

const timeLimitExceeded = (ms: number): DatabaseRequestError =>
  new DatabaseRequestError('57014', `The time limit of ${ms / 1_000} seconds was exceeded.`)

export const noSuchTransaction = (): DatabaseRequestError =>
  new DatabaseRequestError('25P01', 'No such transaction, or it has ended.')
