import type { Pool } from 'pg'
import type { Account } from '../events.ts'
import { readCut, readHeads } from '../shards.ts'

/** Filters of an export; an omitted filter selects everything. */
export interface ExportOrder {
  /** Sequence numbers, inclusive, of one shard or of every shard. */
  readonly range?: { readonly shard?: number; readonly from?: bigint; readonly to?: bigint }
  /** Value dates: `from` inclusive, `to` exclusive. */
  readonly period?: { readonly from: Date; readonly to: Date }
  /** Entries that touch one of these accounts: codes, or prefixes that end in `:`. */
  readonly accounts?: readonly Account[]
  /** True to include permissions (free calls, allowances) in accounting formats. */
  readonly allAssets?: boolean | undefined
}

/** Entries of one shard that an export reads. Bounds are inclusive sequence numbers. */
export interface Span {
  readonly shard: number
  readonly from: string
  readonly to: string
  /** Last entry posted within the period; later ones belong to it only by an earlier value date. */
  readonly late: string
}

/** Balance of an account, in units of its asset, credit-positive. */
export interface AccountBalance {
  readonly code: Account
  /** Asset, or its symbol in accounting formats. */
  readonly asset: string
  readonly amount: bigint
}

/** Scope of an export as resumable JSON: the same plan always gives the same bytes. */
export interface ExportPlan {
  readonly spans: readonly Span[]
  readonly period?: { readonly from: string; readonly to: string }
  readonly accounts?: readonly Account[]
  /** Signed checkpoints: the newest within each span, and the one that ends before it. */
  readonly checkpoints?: readonly string[]
  readonly allAssets?: boolean
}

export async function planExport(
  pool: Pool,
  { range = {}, period, accounts, allAssets = false }: ExportOrder,
): Promise<ExportPlan> {
  const { shard, from = 1n, to } = range
  const spans = await findSpans(pool, { shard, from, to, period })
  return {
    spans,
    ...(period ? { period: { from: isoText(period.from), to: isoText(period.to) } } : {}),
    ...(accounts ? { accounts } : {}),
    ...(allAssets ? { allAssets } : {}),
    ...(period || accounts ? {} : { checkpoints: await findCheckpoints(pool, spans) }),
  }
}

/** Returns true if the plan starts at the first entry without gaps: its sums are balances. */
export const coversWholeJournal = ({ spans, period, accounts }: ExportPlan): boolean =>
  !period && !accounts && spans.every(({ from }) => from === '1')

/** Counts the entries that the export reads, an upper bound of those it writes. */
export const countEntries = ({ spans }: ExportPlan): bigint =>
  spans.reduce((sum, { from, to }) => {
    const count = BigInt(to) - BigInt(from) + 1n
    return count > 0n ? sum + count : sum
  }, 0n)

const isoText = (date: Date): string => date.toISOString()

interface Bounds {
  readonly shard: number | undefined
  readonly from: bigint
  readonly to: bigint | undefined
  readonly period: ExportOrder['period']
}

/** Maps instants to sequence numbers: posting times never decrease within a shard. */
async function findSpans(pool: Pool, { shard: only, from, to, period }: Bounds): Promise<Span[]> {
  const heads = await readHeads(pool)
  const before = period && (await readCut(pool, period.from))
  const within = period && (await readCut(pool, period.to))
  return [...heads]
    .filter(([shard]) => only === undefined || shard === only)
    .map(([shard, head]) => {
      const first = (before?.get(shard) ?? 0n) + 1n
      const last = to !== undefined && to < head ? to : head
      const late = within?.get(shard) ?? last
      return {
        shard,
        from: String(from > first ? from : first),
        to: String(last),
        late: String(late < last ? late : last),
      }
    })
}

async function findCheckpoints(pool: Pool, spans: readonly Span[]): Promise<readonly string[]> {
  const notes: string[] = []
  for (const { shard, from, to } of spans) {
    const { rows } = await pool.query<{ note: string }>(
      `SELECT c.note FROM (
         (SELECT c.seq, c.note FROM ledger.checkpoint c
           WHERE c.shard = $1 AND c.seq = $2::bigint - 1 ORDER BY c.audit DESC LIMIT 1)
         UNION ALL
         (SELECT c.seq, c.note FROM ledger.checkpoint c
           WHERE c.shard = $1 AND c.seq BETWEEN $2::bigint AND $3::bigint
           ORDER BY c.seq DESC, c.audit DESC LIMIT 1)) c ORDER BY c.seq`,
      [shard, from, to],
    )
    notes.push(...rows.map(({ note }) => note))
  }
  return notes
}
