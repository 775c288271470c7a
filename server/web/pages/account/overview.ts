import type { Pool } from 'pg'
import { z } from 'zod'
import type { Clock } from '../../../../core/clock.ts'
import { type MainKeyTotals, sumMainKeys } from '../../../../core/identity/main-keys.ts'
import { findRole, type Role } from '../../../../core/identity/roles.ts'
import { type DailySpending, readDailySpending } from '../../../../core/usage/spending.ts'
import { viewSwitch } from '../../form.ts'
import { alignedFormatter, formatCount, formatDollars, lastDays, pluralize } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, page, requireSession } from '../../page.ts'
import { stackedBars } from '../../stacked-bars.ts'
import { metrics, table, withQuery } from '../../table.ts'

export interface OverviewDeps {
  readonly pool: Pool
  readonly clock: Clock
  /** Wallets of administrators by configuration, in lowercase. */
  readonly admins: readonly string[]
}

/** Longer ranges show one bar per week. */
const MAX_DAILY_BARS = 100
const RANGES = { '7': '7 days', '30': '30 days', '90': '90 days', '365': '1 year' } as const

/** `/account`: credits and spending. */
export const overviewPage = ({ pool, clock, admins }: OverviewDeps): AnyPage =>
  page('/account', {
    query: z.object({ days: z.enum(['7', '30', '90', '365']).default('30') }),
    render: async (request) => {
      const { principals, email } = requireSession(request)
      const { days: range } = request.query
      const days = lastDays(clock.now(), Number(range))
      const step = days.length > MAX_DAILY_BARS ? 7 : 1
      const [roots, spent, role] = await Promise.all([
        sumMainKeys(pool, principals),
        readDailySpending(pool, principals, { from: days[0]!, to: days.at(-1)!, step }),
        findRole(pool, principals, admins),
      ])
      return {
        title: 'Account',
        tabs: ACCOUNT_TABS,
        tab: 'Overview',
        main: html`<h1>Account</h1><p class="lead">Signed in as ${email}.
<a class="small" href="/account/sessions">Sign out</a></p>${
          role !== undefined && staffLinks(role)
        }${
          roots.count === 0 ? firstSteps() : accountMetrics(roots, spent, RANGES[range])
        }${(roots.count > 0 || spent.length > 0) && spending(days, spent, { range, step })}`,
      }
    },
  })

/** Links for finance staff and administrators. */
const staffLinks = (role: Role): Html =>
  html`<p class="actions"><a class="button plain" href="/finance">Finance</a>${
    role === 'admin' && html`<a class="button plain" href="/admin">Administration</a>`
  }</p>`

const firstSteps = (): Html =>
  emptyState(
    'No keys yet. Agents call with a key, which holds credits.',
    html`<p><a class="button" href="/account/keys#make">Create a key</a>
<a class="button plain" href="/account/wallets">Link a wallet</a></p>`,
  )

function accountMetrics(
  { count: roots, credits, keyId }: MainKeyTotals,
  spent: readonly DailySpending[],
  range: string,
): Html {
  const total = (amountOf: (each: DailySpending) => bigint) =>
    spent.reduce((sum, each) => sum + amountOf(each), 0n)
  return html`${metrics({
    Credits: formatDollars(credits),
    [`Spent, ${range}`]: formatDollars(total(({ spent }) => spent)),
    Calls: formatCount(total(({ calls }) => calls)),
    'Failed, not charged': formatCount(total(({ failed }) => failed)),
    'Main keys': formatCount(roots),
  })}
${html`<p class="actions"><a class="button" href="${
  roots === 1 ? withQuery('/topup', { key_id: keyId ?? '' }) : '/account/keys'
}">Top up</a><a class="button plain" href="/account/history">History</a></p>`}`
}

interface SpendingRange {
  readonly range: string
  /** Days per bar. */
  readonly step: number
}

function spending(
  days: readonly string[],
  spent: readonly DailySpending[],
  { range, step }: SpendingRange,
): Html {
  const ranges = viewSwitch('Range', RANGES, range, (days) => withQuery('/account', { days }))
  if (spent.length === 0) {
    return html`<h2>Spending</h2>${ranges}${emptyState(
      'No calls in this period.',
      html`<p><a href="/services">Browse services</a></p>`,
    )}`
  }
  const starts = days.filter((_, i) => i % step === 0)
  const amounts = spent.map(({ day, service, spent: amount }) => {
    return { day, series: service || EXTERNAL_SELLERS, amount }
  })
  const byService = [...Map.groupBy(spent, ({ service }) => service)].map(([service, all]) => ({
    service,
    calls: all.reduce((sum, { calls }) => sum + calls, 0n),
    failed: all.reduce((sum, { failed }) => sum + failed, 0n),
    amount: all.reduce((sum, { spent }) => sum + spent, 0n),
  }))
  const rows = byService.toSorted((a, b) => (a.amount < b.amount ? 1 : -1))
  const format = alignedFormatter(rows.map(({ amount }) => amount))
  return html`<h2>Spending</h2>${ranges}${stackedBars(starts, amounts, {
    label: `Spending by service over time: ${pluralize(rows.length, 'service')}`,
    format: formatDollars,
    period: step === 1 ? 'day' : 'week',
  })}${table(
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

const EXTERNAL_SELLERS = 'external sellers'
