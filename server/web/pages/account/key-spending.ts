import { daysBefore } from '../../../../core/clock.ts'
import { creditsOf } from '../../../../core/ledger/postings.ts'
import {
  type KeySpending,
  readKeySpending,
  SUMMED_CALLS_MAX,
} from '../../../../core/usage/key-spending.ts'
import { readSpending } from '../../../../core/usage/spending.ts'
import type { KeyJson } from '../../../rest/account/keys.ts'
import { chart, compare } from '../../chart.ts'
import { formatCount, formatDollars, lastDays } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import type { OverviewDeps } from './overview.ts'

const DAYS = 30

/** Spending of a key by day, beside the days before. That of a main key includes its sub-keys. */
export async function keySpending({ pool, clock }: OverviewDeps, key: KeyJson): Promise<Html> {
  const days = lastDays(clock.now(), DAYS)
  const past = lastDays(daysBefore(clock.now(), DAYS), DAYS)
  const isMain = key.balance_microdollars !== null
  const { byDay, isCut } = isMain
    ? await mainKeySpending(pool, key, past[0]!, days.at(-1)!)
    : await readKeySpending(pool, key.key_id, past[0]!)
  const total = (period: readonly string[]) =>
    period.reduce((sum, day) => sum + (byDay.get(day) ?? 0n), 0n)
  const spent = total(days)
  const whose = isMain ? 'this key and its sub-keys' : 'this key'
  return html`<h2>Spending, ${DAYS} days</h2>${compare(
    spent,
    total(past),
    formatDollars,
    `${DAYS} days`,
  )}${chart({
    label: `Spending of ${whose} by day: ${formatDollars(spent)}`,
    periods: days,
    series: [{ name: 'spent', values: days.map((day) => byDay.get(day) ?? null) }],
    shape: 'bars',
    format: formatDollars,
    empty: 'Nothing spent in this period.',
  })}${
    !isMain &&
    html`<p class="small muted">From the credits of its main key, before refunds${
      isCut && `; the newest ${formatCount(SUMMED_CALLS_MAX)} calls`
    }.</p>`
  }`
}

async function mainKeySpending(
  pool: OverviewDeps['pool'],
  key: KeyJson,
  from: string,
  to: string,
): Promise<KeySpending> {
  const rows = await readSpending(pool, creditsOf(key.key_id), { from, to, by: 'day' })
  const byDay = rows.map(
    ({ groupKey, charged, refunded }) => [groupKey, charged - refunded] as const,
  )
  return { byDay: new Map(byDay), isCut: false }
}
