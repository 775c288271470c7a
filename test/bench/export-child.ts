/**
 * Program: exports a part of the journal as CSV, discards it, and reports the result to its parent.
 */
import { elapsedMs } from '../../core/clock.ts'
import { createPool } from '../../core/db/pool.ts'
import { exportLedger } from '../../core/ledger/export/writer.ts'

export interface ExportResult {
  readonly postings: number
  readonly seconds: number
  /** Peak memory of the process. */
  readonly rssMb: number
}

const [, , url = '', entries = ''] = process.argv
const pool = createPool(url, { max: 2, role: 'hub_app', applicationName: 'export' })
const start = elapsedMs()
let postings = -1 // skip the header
const order = { range: { to: BigInt(entries) } }
for await (const text of exportLedger(pool, 'csv', order)) {
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) postings++
}
const result: ExportResult = {
  postings,
  seconds: (elapsedMs() - start) / 1_000,
  rssMb: process.resourceUsage().maxRSS / 1_024,
}
process.send?.(result)
await pool.end()
process.disconnect()
