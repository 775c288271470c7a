import { daysBefore } from '../../../../core/clock.ts'
import { creditsOf } from '../../../../core/ledger/postings.ts'
import { readSpending } from '../../../../core/usage/spending.ts'
import type { KeyJson } from '../../../rest/account/keys.ts'
import { chart, compare } from '../../chart.ts'
import { formatDollars, lastDays } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import type { OverviewDeps } from './overview.ts'

const DAYS = 30

/** Spending of a main key by day, beside the days before; sub-keys are part of their main key. */
export async function keySpending(
  { pool, clock }: OverviewDeps,
  key: KeyJson,
): Promise<Html | undefined> {
  if (key.balance_microdollars === null) return undefined
  const days = lastDays(clock.now(), DAYS)
  const past = lastDays(daysBefore(clock.now(), DAYS), DAYS)
  const read = (from: string, to: string) =>
    readSpending(pool, creditsOf(key.key_id), { from, to, by: 'day' })
  const [spent, before] = await Promise.all([
    read(days[0]!, days.at(-1)!),
    read(past[0]!, past.at(-1)!),
  ])
  const byDay = new Map(spent.map((row) => [row.groupKey, row.charged - row.refunded]))
  const total = (rows: typeof spent) =>
    rows.reduce((sum, { charged, refunded }) => sum + charged - refunded, 0n)
  const comparison = compare(total(spent), total(before), formatDollars, `${DAYS} days`)
  return html`<h2>Spending, ${DAYS} days</h2>${comparison}${chart({
    label: `Spending of this key and its sub-keys by day: ${formatDollars(total(spent))}`,
    periods: days,
    series: [{ name: 'spent', values: days.map((day) => byDay.get(day) ?? null) }],
    shape: 'bars',
    format: formatDollars,
    empty: 'Nothing spent in this period.',
  })}`
}
