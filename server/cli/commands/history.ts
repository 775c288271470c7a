import { type Context, clientWithKey } from '../context.ts'
import { dollars, table } from '../terminal.ts'
import { parseLimit } from './search.ts'

interface Item {
  readonly id: string
  readonly event: string
  readonly at: string
  readonly change_microdollars: number
  readonly balance_microdollars: number | null
  readonly endpoint: string | null
}

interface HistoryFlags {
  readonly limit?: string
  readonly cursor?: string
  /** True for each entry of the ledger instead of one row per call. */
  readonly movements?: boolean
}

/** Prints the calls and other changes of the key's credits, newest first. */
export async function history(
  context: Context,
  { limit, cursor, movements }: HistoryFlags,
): Promise<void> {
  const query = new URLSearchParams({
    view: movements ? 'movements' : 'calls',
    limit: String(parseLimit(limit)),
    ...(cursor && { cursor }),
  })
  const { body } = await (await clientWithKey(context)).send(
    `/v1/credits/history?${query.toString()}`,
  )
  const { data, next_cursor: next } = body as unknown as {
    readonly data: readonly Item[]
    readonly next_cursor: string | null
  }
  await context.terminal.result(body, () => {
    if (data.length === 0) return 'No movements yet.'
    const rows = data.map((item) => [
      item.at.replace('T', ' ').slice(0, 19),
      item.event,
      dollars(BigInt(item.change_microdollars)),
      item.balance_microdollars === null ? '' : dollars(BigInt(item.balance_microdollars)),
      item.endpoint ?? '',
      item.id,
    ])
    const more = next ? `\n\nMore: --cursor ${next}` : ''
    return `${table(['at (UTC)', 'event', 'change', 'balance', 'endpoint', 'id'], rows)}${more}`
  })
}
