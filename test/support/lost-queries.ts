import { Client } from 'pg'

/** When the connection is lost: before the server has run the statement, or after. */
export type LossTime = 'before' | 'after'

type Query = (this: Client, ...args: unknown[]) => unknown

/** Statements of timers, which run at any time. */
const BACKGROUND = /hub\.beat|pg_notify|^LISTEN/
const original = Reflect.get(Client.prototype, 'query') as Query

/**
 * Runs `work` while the connection of the `n`-th statement of this process is lost.
 * @returns the result, and the number of statements
 */
export async function loseQuery<T>(n: number, time: LossTime, work: () => Promise<T>) {
  let count = 0
  Client.prototype.query = function query(this: Client, ...args: unknown[]): unknown {
    const text = typeof args[0] === 'string' ? args[0] : (args[0] as { text?: string }).text
    if (text === undefined || BACKGROUND.test(text) || ++count !== n)
      return original.apply(this, args)
    if (time === 'after') return loseResponse(this, args)
    cut(this)
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
