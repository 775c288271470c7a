import type { Database, Transaction } from '../plugin/index.ts'
import { SESSIONS_MAX } from './limits.ts'
import { sent, unpacked } from './rows.ts'

/** Asks the hub. @returns the rows in base64 */
type Ask = (request: Readonly<Record<string, unknown>>) => Promise<string>

/**
 * The database of a plugin that runs apart, as the plugin has it: each statement is a question to
 * the hub. What the hub would refuse as too much at once waits here for its turn.
 */
export function borrowedDatabase(ask: Ask): Database {
  const turns = new Turns(SESSIONS_MAX)
  let last = 0

  /** Statements that wait for their turn, in a transaction or each by itself. */
  const statements = (inTurn: Turns, transaction?: number): Transaction => ({
    query: <Row extends object>(text: string, values: readonly unknown[] = []) =>
      inTurn.take(async () =>
        unpacked<Row>(await ask({ do: 'query', transaction, text, values: values.map(sent) })),
      ),
  })

  const between = <T>(reading: boolean, work: (on: Transaction) => Promise<T>): Promise<T> =>
    turns.take(async () => {
      const transaction = ++last
      await ask({ do: 'begin', transaction, reading })
      const end = (commit: boolean) => ask({ do: 'end', transaction, commit })
      try {
        const result = await work(statements(new Turns(1), transaction))
        await end(true)
        return result
      } catch (error) {
        await end(false).catch(() => undefined) // it has rolled back already
        throw error
      }
    })

  return {
    ...statements(turns),
    transaction: (work) => between(false, work),
    reading: (work) => between(true, work),
  }
}

/** So many at a time; others wait, first come, first served. */
class Turns {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(most: number) {
    this.#free = most
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }
}
