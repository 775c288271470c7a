import type { Context } from '../context.ts'
import { dollars } from '../terminal.ts'
import { formatTime, type PageFlags, printPage } from './list-page.ts'

interface Item {
  readonly id: string
  readonly event: string
  readonly at: string
  readonly change_microdollars: number
  readonly balance_microdollars: number | null
  readonly endpoint: string | null
}

interface HistoryFlags extends PageFlags {
  /** True for each entry of the ledger instead of one row per call. */
  readonly movements?: boolean
}

/** Prints the calls and other changes of the key's credits, newest first. */
export const history = (context: Context, flags: HistoryFlags): Promise<void> =>
  printPage<Item>(context, flags, {
    path: '/v1/credits/history',
    query: { view: flags.movements ? 'movements' : 'calls' },
    head: ['at (UTC)', 'event', 'change', 'balance', 'endpoint', 'id'],
    cellsOf: (item) => [
      formatTime(item.at),
      item.event,
      dollars(BigInt(item.change_microdollars)),
      item.balance_microdollars === null ? '' : dollars(BigInt(item.balance_microdollars)),
      item.endpoint ?? '',
      item.id,
    ],
    ifEmpty: 'No movements yet.',
  })
