import type { Pool } from 'pg'
import {
  type ExportedPosting,
  formatUnits,
  type JournalRange,
  onSnapshot,
  readPostings,
} from './journal.ts'

const HEADER = [
  'shard',
  'seq',
  'at_utc',
  'id',
  'event',
  'account',
  'asset',
  'debit',
  'credit',
] as const

/**
 * The postings of a range as CSV (RFC 4180), one line for each, in the order of the journal: the
 * same bytes for the same range. Amounts are exact decimals of the asset, in `debit` or `credit`.
 */
export function exportCsv(pool: Pool, range: JournalRange = {}): AsyncIterable<string> {
  return onSnapshot(pool, async function* (client) {
    yield csvLine(HEADER)
    for await (const page of readPostings(client, range)) {
      yield page.map((posting) => csvLine(cells(posting))).join('')
    }
  })
}

function cells(posting: ExportedPosting): string[] {
  const { shard, seq, at, id, event, account, asset, decimals, amount } = posting
  const debit = amount < 0n ? formatUnits(-amount, decimals) : ''
  const credit = amount > 0n ? formatUnits(amount, decimals) : ''
  return [String(shard), String(seq), at, id, event, account, asset, debit, credit]
}

/** Cells as one line of CSV, with its line end. */
export const csvLine = (values: readonly string[]): string => `${values.map(csvCell).join(',')}\r\n`

/** Spreadsheets run text that starts like a formula; a leading apostrophe makes it text again. */
function csvCell(value: string): string {
  const formula = /^[=+\-@\t\r]/.test(value) && !/^[+-]?\d+(?:\.\d+)?$/.test(value)
  const text = formula ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
