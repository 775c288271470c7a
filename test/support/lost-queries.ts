import { Client } from 'pg'
import { elapsedMs } from '../../core/clock.ts'

/** When the connection is lost: before the server has run the statement, or after. */
export type LossTime = 'before' | 'after'

export interface Loss {
  /** Number of the statement in this process, from 1. */
  readonly n: number
  readonly time: LossTime
  /** Time in which all further statements fail, in milliseconds. @defaultValue 0 */
  readonly outageMs?: number
}

type Query = (this: Client, ...args: unknown[]) => unknown

/** Statements of timers, which run at any time. */
const BACKGROUND = /hub\.beat|pg_notify|^LISTEN/
const original = Reflect.get(Client.prototype, 'query') as Query

/**
 * Runs `work` while the connection of the `n`-th statement of this process is lost.
 * @returns the result, and the number of statements
 */
export async function loseQuery<T>({ n, time, outageMs = 0 }: Loss, work: () => Promise<T>) {
  let count = 0
  let outageEnd = 0
  Client.prototype.query = function query(this: Client, ...args: unknown[]): unknown {
    const text = typeof args[0] === 'string' ? args[0] : (args[0] as { text?: string }).text
    const isCounted = text !== undefined && !BACKGROUND.test(text)
    if (isCounted && ++count === n) {
      outageEnd = elapsedMs() + outageMs
      if (time === 'after') return loseResponse(this, args)
      cut(this)
    } else if (elapsedMs() < outageEnd) cut(this)
    return original.apply(this, args)
  } as typeof Client.prototype.query
  try {
    return { result: await work(), count }
  } finally {
    Client.prototype.query = original as typeof Client.prototype.query
  }
}

const cut = (client: Client): void =>
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()

/** Runs the statement and reports what pg reports if the connection is lost before the response. */
function loseResponse(client: Client, args: unknown[]): unknown {
  const lost = new Error('Connection terminated unexpectedly')
  const callback = args.at(-1)
  if (typeof callback === 'function') {
    const report = (): void => {
      cut(client)
      callback(lost)
    }
    return original.apply(client, [...args.slice(0, -1), report])
  }
  return (original.apply(client, args) as Promise<unknown>).then(() => {
    cut(client)
    throw lost
  })
}
