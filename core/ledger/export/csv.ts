import { valueAt } from '../entry.ts'
import { EVIDENCE } from './evidence.ts'
import type { Format } from './format.ts'
import { formatUnits } from './units.ts'

const HEADER = [
  'shard',
  'seq',
  'booked_at_utc',
  'value_at_utc',
  'id',
  'event',
  'account',
  'asset',
  'debit',
  'credit',
  ...EVIDENCE,
] as const

/** CSV (RFC 4180) with one line per posting. Amounts are exact decimals of the asset. */
export const csv: Format = {
  start: () => csvLine(HEADER),
  entry: ({ row, event, postings, evidence }) => {
    const head = `${row.shard},${row.seq},${row.at},${valueAt(row)},${row.id},${event}`
    let tail = ''
    for (const name of EVIDENCE) {
      const fact = evidence[name]
      tail += fact === undefined ? ',' : `,${csvCell(fact)}`
    }
    let lines = ''
    for (const { account, amount } of postings) {
      const text = formatUnits(amount < 0n ? -amount : amount, account.decimals)
      const sides = amount < 0n ? `${text},` : `,${text}`
      lines += `${head},${csvCell(account.code)},${account.asset},${sides}${tail}\r\n`
    }
    return lines
  },
}

/** Formats cells as one line of CSV, including the line end. */
export const csvLine = (values: readonly string[]): string => `${values.map(csvCell).join(',')}\r\n`

const PLAIN = /^[A-Za-z0-9][A-Za-z0-9:._-]*$/

/** Start of a formula; some spreadsheets read fullwidth signs as well. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

/** Quotes a cell. Prefixes text that a spreadsheet would run as a formula with an apostrophe. */
function csvCell(value: string): string {
  if (PLAIN.test(value)) return value
  const formula = FORMULA.test(value) && !/^[+-]?\d+(?:\.\d+)?$/.test(value)
  const text = formula ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
