import type { Database, Transaction } from '../plugin/index.ts'
import { SESSIONS_MAX } from './limits.ts'
import { encodeValue, unpackRows } from './rows.ts'

/** Sends a database request to the hub. @returns rows in base64 */
type SendRequest = (request: Readonly<Record<string, unknown>>) => Promise<string>

/**
 * Creates the plugin side of an injected database: each statement is a request to the hub. Limits
 * concurrency to what the hub accepts; further work waits.
 */
export function createDatabaseClient(ask: SendRequest): Database {
  const turns = new Semaphore(SESSIONS_MAX)
  let last = 0

  /** Executes statements one by one as the semaphore allows, in a transaction or separately. */
  const statements = (inTurn: Semaphore, transaction?: number): Transaction => ({
    query: <Row extends object>(text: string, values: readonly unknown[] = []) =>
      inTurn.run(async () =>
        unpackRows<Row>(
          await ask({ do: 'query', transaction, text, values: values.map(encodeValue) }),
        ),
      ),
  })

  const between = <T>(reading: boolean, work: (on: Transaction) => Promise<T>): Promise<T> =>
    turns.run(async () => {
      const transaction = ++last
      await ask({ do: 'begin', transaction, reading })
      const end = (commit: boolean) => ask({ do: 'end', transaction, commit })
      try {
        const result = await work(statements(new Semaphore(1), transaction))
        await end(true)
        return result
      } catch (error) {
        await end(false).catch(() => undefined) // already rolled back
        throw error
      }
    })

  return {
    ...statements(turns),
    transaction: (work) => between(false, work),
    reading: (work) => between(true, work),
  }
}

/** Limits concurrency; waiting work runs in order of arrival. */
class Semaphore {
  readonly #queue: (() => void)[] = []
  #free: number

  constructor(most: number) {
    this.#free = most
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#queue.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#queue.shift()
      if (next) next()
      else this.#free += 1
    }
  }
}
