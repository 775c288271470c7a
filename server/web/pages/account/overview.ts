import type { Pool } from 'pg'
import { z } from 'zod'
import { suggestService } from '../../../../core/catalog/services/published-services.ts'
import type { Clock } from '../../../../core/clock.ts'
import { readFirstSteps } from '../../../../core/identity/first-steps.ts'
import { type MainKeyTotals, sumMainKeys } from '../../../../core/identity/main-keys.ts'
import { refreshedAfter } from '../../../../core/runtime/cache.ts'
import { readFreeCallsLeft } from '../../../../core/usage/free-calls-left.ts'
import { type DailySpending, readDailySpending } from '../../../../core/usage/spending.ts'
import { chart, compare } from '../../chart.ts'
import {
  type DayRange,
  dayRangeOf,
  previousRange,
  RANGES,
  type Range,
  rangeField,
} from '../../chart-range.ts'
import { seriesOf } from '../../chart-series.ts'
import { viewSwitch } from '../../form.ts'
import { alignedFormatter, formatCount, formatDollars, lastDays, pluralize } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, page, requireSession } from '../../page.ts'
import { metrics, table, withQuery } from '../../table.ts'
import { checklist } from './checklist.ts'
import { createKey } from './keys.ts'
import { freeCallsTable, PACE_DAYS, runOutChart, runOutText } from './run-out.ts'

export interface OverviewDeps {
  readonly pool: Pool
  readonly clock: Clock
}

const CACHE_MS = 30_000

/** `/account`: credits and spending. */
export const overviewPage = ({ pool, clock }: OverviewDeps): AnyPage => {
  const suggested = refreshedAfter(CACHE_MS, async () => ({ service: await suggestService(pool) }))
  return page('/account', {
    actions: { make: createKey },
    query: z.object({ days: rangeField }),
    render: async (request) => {
      const { principals } = requireSession(request)
      const { days } = request.query
      const range = dayRangeOf(lastDays(clock.now(), Number(days)))
      const week = lastDays(clock.now(), PACE_DAYS)
      const spentIn = ({ from, to, step }: DayRange, by?: 'key') =>
        readDailySpending(pool, principals, { from, to, step, ...(by && { by }) })
      const [roots, spent, byKey, before, pace, steps, free, { service }] = await Promise.all([
        sumMainKeys(pool, principals),
        spentIn(range),
        spentIn(range, 'key'),
        spentIn(previousRange(range)),
        readDailySpending(pool, principals, { from: week[0]!, to: week.at(-1)!, step: PACE_DAYS }),
        readFirstSteps(pool, principals),
        readFreeCallsLeft(pool, principals, clock.now()),
        suggested(),
      ])
      const { submission } = request
      return {
        title: 'Account',
        tabs: ACCOUNT_TABS,
        tab: 'Overview',
        main: html`<h1>Overview</h1>${checklist({
          steps: { ...steps, hasCredits: roots.credits > 0n },
          service,
          keyId: roots.keyId ?? undefined,
          submission,
        })}${roots.count > 0 && accountMetrics(roots, spent, pace, RANGES[days])}${
          (roots.count > 0 || spent.length > 0) && spending(range, { spent, byKey, before }, days)
        }${
          roots.count > 0 &&
          html`<div class="columns">${[
            runOutChart(clock.now(), roots.credits, sumSpent(pace)),
            freeCallsTable(free),
          ]}</div>`
        }`,
      }
    },
  })
}

const sumSpent = (spent: readonly DailySpending[]): bigint =>
  spent.reduce((sum, each) => sum + each.spent, 0n)

function accountMetrics(
  { count: roots, credits, keyId }: MainKeyTotals,
  spent: readonly DailySpending[],
  pace: readonly DailySpending[],
  range: string,
): Html {
  const total = (amountOf: (each: DailySpending) => bigint) =>
    spent.reduce((sum, each) => sum + amountOf(each), 0n)
  return html`${metrics({
    Credits: formatDollars(credits),
    'Credits last': runOutText(credits, sumSpent(pace)),
    [`Spent, ${range}`]: formatDollars(sumSpent(spent)),
    Calls: formatCount(total(({ calls }) => calls)),
    'Failed, not charged': formatCount(total(({ failed }) => failed)),
  })}
${html`<p class="actions"><a class="button" href="${
  roots === 1 ? withQuery('/topup', { key_id: keyId ?? '' }) : '/account/keys'
}">Top up</a><a class="button plain" href="/account/history">History</a></p>`}`
}

function spending(
  { starts, period }: DayRange,
  { spent, byKey, before }: SpendingFigures,
  days: Range,
): Html {
  const ranges = viewSwitch('Range', RANGES, days, (other) =>
    withQuery('/account', { days: other }),
  )
  if (spent.length === 0) {
    return html`<h2>Spending</h2>${ranges}${emptyState(
      'No calls in this period.',
      html`<p><a href="/services">Browse services</a></p>`,
    )}`
  }
  const byService = [...Map.groupBy(spent, ({ service }) => service)].map(([service, all]) => ({
    service,
    calls: all.reduce((sum, { calls }) => sum + calls, 0n),
    failed: all.reduce((sum, { failed }) => sum + failed, 0n),
    amount: all.reduce((sum, { spent }) => sum + spent, 0n),
  }))
  const rows = byService.toSorted((a, b) => (a.amount < b.amount ? 1 : -1))
  const format = alignedFormatter(rows.map(({ amount }) => amount))
  return html`<h2>Spending</h2>${ranges}${compare(
    sumSpent(spent),
    sumSpent(before),
    formatDollars,
    RANGES[days],
  )}${spendingCharts(starts, { spent, byKey }, period)}${table(
    'Spending by service',
    [
      {
        head: 'Service',
        cell: ({ service }) =>
          service === '' ? EXTERNAL_SELLERS : html`<a href="/services/${service}">${service}</a>`,
      },
      { head: 'Calls', number: true, cell: ({ calls }) => formatCount(calls) },
      { head: 'Failed', number: true, cell: ({ failed }) => formatCount(failed) },
      { head: 'Spent', number: true, cell: ({ amount }) => format(amount) },
    ],
    rows,
  )}`
}

interface SpendingFigures {
  readonly spent: readonly DailySpending[]
  /** The same days by main key. */
  readonly byKey: readonly DailySpending[]
  /** Days before, for comparison. */
  readonly before: readonly DailySpending[]
}

/** Charts of spending by service and by key, and of calls. */
function spendingCharts(
  periods: readonly string[],
  { spent, byKey }: Omit<SpendingFigures, 'before'>,
  period: 'day' | 'week',
): Html {
  const amounts = (rows: readonly DailySpending[]) =>
    rows.map(({ day, service, spent: amount }) => {
      return { period: day, series: service || EXTERNAL_SELLERS, amount }
    })
  const counts = (name: string, countOf: (row: DailySpending) => bigint) => ({
    name,
    values: periods.map((start) =>
      spent.reduce((sum, row) => (row.day === start ? sum + countOf(row) : sum), 0n),
    ),
  })
  const money = {
    periods,
    period,
    shape: 'bars',
    format: formatDollars,
    empty: 'Nothing spent in this period.',
  } as const
  const services = seriesOf(periods, amounts(spent))
  const keys = seriesOf(periods, amounts(byKey))
  return html`${chart({
    ...money,
    label: `Spending by service over time: ${pluralize(services.length, 'service')}`,
    series: services,
  })}<div class="columns"><section><h3>By main key</h3>${chart({
    ...money,
    label: `Spending by main key over time: ${pluralize(keys.length, 'key')}`,
    series: keys,
  })}</section><section><h3>Calls and failures</h3>${chart({
    label: 'Delivered and failed calls over time',
    periods,
    period,
    series: [counts('delivered', ({ calls }) => calls), counts('failed', ({ failed }) => failed)],
    shape: 'bars',
    format: formatCount,
    empty: 'No calls in this period.',
  })}</section></div>`
}

const EXTERNAL_SELLERS = 'external sellers'
