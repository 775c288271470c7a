import type { Pool } from 'pg'
import { decimal } from '../../../core/money.ts'
import { type LineCursor, statementLines } from '../../../core/payments/payouts/statement.ts'
import { Flow } from '../../proxy/stream.ts'

/** Lines that are read at a time. */
const PAGE = 1_000
const HEADER = [
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
export const csvOf = (pool: Pool, { id }: { readonly id: string }): Flow => Flow.of(pages(pool, id))

async function* pages(pool: Pool, payout: string): AsyncGenerator<string> {
  yield lineOf(HEADER)
  let after: LineCursor | undefined
  for (;;) {
    const lines = await statementLines(pool, payout, PAGE, after)
    const texts = lines.map(({ id, service, event, at, gross, commission, amount }) => {
      const amounts = [gross, commission, amount].map(decimal)
      return lineOf([payout, id, service, event, at.toISOString(), ...amounts])
    })
    if (texts.length > 0) yield texts.join('')
    const last = lines.at(-1)
    if (lines.length < PAGE || !last) return
    after = [String(last.account), last.shard, String(last.seq)]
  }
}

const lineOf = (values: readonly string[]): string => `${values.join(',')}\r\n`
