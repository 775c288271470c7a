import type { Pool } from 'pg'
import { readSnapshot } from '../db/transaction.ts'
import type { Account, Asset, LedgerEvent } from '../ledger/events.ts'
import { balancesAt } from '../ledger/history/balance.ts'
import {
  CONTRIBUTED_ETH,
  CONVERSION,
  ETH_VALUE,
  EXPENSE,
  GAS,
  OPENING,
  REVALUATION_GAIN,
} from '../ledger/postings.ts'
import type { ReportPeriod } from './report-period.ts'

/** Accounts of ETH and its value, in the order of the report. */
const ACCOUNTS: readonly Account[] = [
  GAS,
  OPENING.GWEI,
  CONVERSION.GWEI,
  CONVERSION.USDC,
  ETH_VALUE,
  CONTRIBUTED_ETH,
  REVALUATION_GAIN,
  EXPENSE.revaluation,
]

/** Change of an account by the entries of one event. Credit-positive, in units of the asset. */
export interface ConversionChange {
  readonly event: LedgerEvent['type']
  readonly entries: bigint
  readonly amount: bigint
}

/** An account over a period: opening + changes = closing. */
export interface ConversionLine {
  readonly account: Account
  readonly asset: Asset
  readonly opening: bigint
  readonly changes: readonly ConversionChange[]
  readonly closing: bigint
}

/** Revaluation of ETH, with its price in USD. */
export interface PricedEntry {
  readonly id: string
  readonly valueAt: Date
  readonly price: string
  readonly source: string
  readonly author: string | null
}

export interface ConversionReport {
  readonly period: ReportPeriod
  readonly lines: readonly ConversionLine[]
  readonly revaluations: readonly PricedEntry[]
}

/**
 * Entries `j` of the kinds `k` that may change the accounts, valued from $1 until $2.
 * Kinds: 27 balance.opened, 32 gas.paid, 40 balance.adjusted, 45 holdings.revalued.
 */
const ENTRIES = `ledger.head h JOIN ledger.journal j ON j.shard = h.shard
    AND j.kind IN (27, 32, 40, 45)
    AND coalesce(j.effective_at, j.at) >= $1 AND coalesce(j.effective_at, j.at) < $2
  JOIN ledger.kind k ON k.id = j.kind`

/** Explains the accounts between ETH and USDC in a period, by value date. */
export const conversionReport = (pool: Pool, period: ReportPeriod): Promise<ConversionReport> =>
  readSnapshot(pool, async (client) => {
    const { from, to } = period
    const [opening, closing] = [
      await balancesAt(client, from, { like: ACCOUNTS }),
      await balancesAt(client, to, { like: ACCOUNTS }),
    ]
    // Both are named, because planning them takes ten times as long as running them.
    const { rows: changes } = await client.query<ConversionChange & { account: Account }>({
      name: 'conversion.changes',
      text: `SELECT a.code AS account, k.event, count(DISTINCT (j.shard, j.seq)) AS entries,
         sum(l.amount)::bigint AS amount
       FROM ${ENTRIES} CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
       JOIN ledger.account a ON a.id = l.account
       WHERE a.code = ANY ($3) GROUP BY 1, 2 ORDER BY 1, 2`,
      values: [from, to, ACCOUNTS],
    })
    const { rows: revaluations } = await client.query<PricedEntry>({
      name: 'conversion.revaluations',
      text: `SELECT j.id, coalesce(j.effective_at, j.at) AS "valueAt", j.meta ->> 'price' AS price,
         j.meta ->> 'price_source' AS source, j.meta ->> 'author' AS author
       FROM ${ENTRIES} WHERE k.event = 'holdings.revalued' ORDER BY j.at`,
      values: [from, to],
    })
    const balance = (rows: typeof opening, code: Account): bigint =>
      rows.find(({ account }) => account === code)?.balance ?? 0n
    const lines = ACCOUNTS.map((account) => ({
      account,
      asset: ETH_ACCOUNTS.has(account) ? ('GWEI' as const) : ('USDC' as const),
      opening: balance(opening, account),
      changes: changes.filter((change) => change.account === account),
      closing: balance(closing, account),
    }))
    return { period, lines, revaluations }
  })

const ETH_ACCOUNTS: ReadonlySet<Account> = new Set([GAS, OPENING.GWEI, CONVERSION.GWEI])
