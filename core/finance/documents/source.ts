import type { Pool } from 'pg'
import type { Clock } from '../../clock.ts'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import { parseReportPeriod, type ReportPeriod } from '../report-period.ts'
import type { DocumentContent, DocumentLine, Tax } from './document.ts'

export interface SourceDeps {
  readonly pool: Pool
  readonly clock: Clock
}

/** Line of a document before its tax, which depends on the customer. */
export interface SourceLine extends Pick<DocumentLine, 'description' | 'quantity' | 'ledger'> {
  /** Amount that includes tax. */
  readonly gross: bigint
  /** Returns the tax of the line. @param tax that of what the platform sells to the customer */
  readonly taxFor: (tax: Tax) => Tax
}

/** Content of a document without parties and tax, and the principal that it belongs to. */
export interface DocumentSource
  extends Omit<DocumentContent, 'supplier' | 'customer' | 'lines' | 'totals'> {
  readonly principal: string
  readonly lines: readonly SourceLine[]
}

/** Tax of what the platform sells itself. */
export const taxOfPlatform = (tax: Tax): Tax => tax

/** Reads the figures of a subject. `principals`: those who may see it, the account first. */
export type ReadSource = (
  deps: SourceDeps,
  principals: KeyManager,
  subject: string,
) => Promise<DocumentSource>

/** Members that most documents leave empty. */
export const NOTHING = { period: null, preceding: null, transaction: null, tables: [], notes: [] }

/** Time after the end of a month in which its last entries may still be committed. */
const COMMIT_MS = 300_000

/**
 * Period of a month whose entries are complete.
 * @param month `2026-11`
 * @throws Fault `document_not_available`
 */
export function parsePastMonth(month: string, clock: Clock): ReportPeriod {
  const period = parseReportPeriod(month)!
  const complete = new Date(period.to.getTime() + COMMIT_MS)
  const now = clock.now()
  if (now >= complete) return period
  const state =
    now < period.to ? 'The month is not over.' : 'The last entries of the month may be missing.'
  const from = `${complete.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  throw new Fault('document_not_available', `${state} Nothing was issued: try again from ${from}.`)
}
