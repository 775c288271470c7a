import type { Pool } from 'pg'
import { z } from 'zod'
import { suggestService } from '../../../../core/catalog/services/published-services.ts'
import type { Clock } from '../../../../core/clock.ts'
import { readFirstSteps } from '../../../../core/identity/first-steps.ts'
import { type MainKeyTotals, sumMainKeys } from '../../../../core/identity/main-keys.ts'
import { refreshedWhileUsed } from '../../../../core/runtime/cache.ts'
import {
  type AccountSpending,
  type PeriodSpending,
  readAccountSpending,
} from '../../../../core/usage/account-spending.ts'
import { readFreeCallsLeft } from '../../../../core/usage/free-calls-left.ts'
import { chart, compare } from '../../chart.ts'
import { type DayRange, dayRangeOf, RANGES, type Range, rangeField } from '../../chart-range.ts'
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
  const suggested = refreshedWhileUsed(CACHE_MS, async () => ({
    service: await suggestService(pool),
  }))
  return page('/account', {
    actions: { make: createKey },
    query: z.object({ days: rangeField }),
    render: async (request) => {
      const { principals } = requireSession(request)
      const { days } = request.query
      const range = dayRangeOf(lastDays(clock.now(), Number(days)))
      const { from, to, step, days: dates } = range
      const recentFrom = dates.at(-PACE_DAYS)!
      const [roots, spent, steps, free, { service }] = await Promise.all([
        sumMainKeys(pool, principals),
        readAccountSpending(pool, principals, { from, to, step, recentFrom }),
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
        })}${roots.count > 0 && accountMetrics(roots, spent, RANGES[days])}${
          (roots.count > 0 || spent.byService.length > 0) && spending(range, spent, days)
        }${
          roots.count > 0 &&
          html`<div class="columns">${[
            runOutChart(clock.now(), roots.credits, spent.recent),
            freeCallsTable(free),
          ]}</div>`
        }`,
      }
    },
  })
}

const sumSpent = (spent: readonly PeriodSpending[]): bigint =>
  spent.reduce((sum, each) => sum + each.spent, 0n)

function accountMetrics(
  { count: roots, credits, keyId }: MainKeyTotals,
  { byService, recent }: AccountSpending,
  range: string,
): Html {
  const total = (amountOf: (each: PeriodSpending) => bigint) =>
    byService.reduce((sum, each) => sum + amountOf(each), 0n)
  return html`${metrics({
    Credits: formatDollars(credits),
    'Credits last': runOutText(credits, recent),
    [`Spent, ${range}`]: formatDollars(sumSpent(byService)),
    Calls: formatCount(total(({ calls }) => calls)),
    'Failed, not charged': formatCount(total(({ failed }) => failed)),
  })}
${html`<p class="actions"><a class="button" href="${
  roots === 1 ? withQuery('/topup', { key_id: keyId ?? '' }) : '/account/keys'
}">Top up</a><a class="button plain" href="/account/history">History</a></p>`}`
}

function spending({ starts, period }: DayRange, spent: AccountSpending, days: Range): Html {
  const { byService, before } = spent
  const ranges = viewSwitch('Range', RANGES, days, (other) =>
    withQuery('/account', { days: other }),
  )
  if (byService.length === 0) {
    return html`<h2>Spending</h2>${ranges}${emptyState(
      'No calls in this period.',
      html`<p><a href="/services">Browse services</a></p>`,
    )}`
  }
  const services = [...Map.groupBy(byService, ({ name }) => name)].map(([service, all]) => ({
    service,
    calls: all.reduce((sum, { calls }) => sum + calls, 0n),
    failed: all.reduce((sum, { failed }) => sum + failed, 0n),
    amount: sumSpent(all),
  }))
  const rows = services.toSorted((a, b) => (a.amount < b.amount ? 1 : -1))
  const format = alignedFormatter(rows.map(({ amount }) => amount))
  return html`<h2>Spending</h2>${ranges}${compare(
    sumSpent(byService),
    before,
    formatDollars,
    RANGES[days],
  )}${spendingCharts(starts, spent, period)}${table(
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

/** Charts of spending by service and by key, and of calls. */
function spendingCharts(
  periods: readonly string[],
  { byService, byMainKey }: Pick<AccountSpending, 'byService' | 'byMainKey'>,
  period: 'day' | 'week',
): Html {
  const amounts = (rows: readonly PeriodSpending[]) =>
    rows.map(({ day, name, spent: amount }) => {
      return { period: day, series: name || EXTERNAL_SELLERS, amount }
    })
  const byDay = Map.groupBy(byService, ({ day }) => day)
  const counts = (name: string, countOf: (row: PeriodSpending) => bigint) => ({
    name,
    values: periods.map((start) =>
      (byDay.get(start) ?? []).reduce((sum, row) => sum + countOf(row), 0n),
    ),
  })
  const money = {
    periods,
    period,
    shape: 'bars',
    format: formatDollars,
    empty: 'Nothing spent in this period.',
  } as const
  const services = seriesOf(periods, amounts(byService))
  const keys = seriesOf(periods, amounts(byMainKey))
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
