import type { Pool } from 'pg'
import { decimal } from '../../../core/money.ts'
import { type LineCursor, readStatementLines } from '../../../core/payments/payouts/statement.ts'
import { ResponseStream } from '../../http/response-stream.ts'

/** Lines that are read at a time. */
const CSV_PAGE_LINES = 1_000
const CSV_HEADER = [
  'payout_id',
  'entry_id',
  'service',
  'event',
  'at',
  'gross_usd',
  'commission_usd',
  'amount_usd',
]

/** A statement as CSV, of constant memory. No value needs quotes: slugs, ids, times and numbers. */
export const csvStatement = (pool: Pool, { id }: { readonly id: string }): ResponseStream =>
  ResponseStream.of(csvPages(pool, id))

async function* csvPages(pool: Pool, payout: string): AsyncGenerator<string> {
  yield csvLine(CSV_HEADER)
  let after: LineCursor | undefined
  for (;;) {
    const lines = await readStatementLines(pool, payout, CSV_PAGE_LINES, after)
    const texts = lines.map(({ id, service, event, at, gross, commission, amount }) => {
      const amounts = [gross, commission, amount].map(decimal)
      return csvLine([payout, id, service, event, at.toISOString(), ...amounts])
    })
    if (texts.length > 0) yield texts.join('')
    const last = lines.at(-1)
    if (lines.length < CSV_PAGE_LINES || !last) return
    after = [String(last.account), last.shard, String(last.seq)]
  }
}

const csvLine = (values: readonly string[]): string => `${values.join(',')}\r\n`
