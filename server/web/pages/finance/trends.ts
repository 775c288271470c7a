import type { TrendsJson } from '../../../rest/finance/trends.ts'
import { chart, compare } from '../../chart.ts'
import { formatDollars } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { ledgerTable, metrics, withQuery } from '../../table.ts'
import { formatAmount } from './components.ts'

type Month = TrendsJson['data'][number]
type Figure = Exclude<keyof Month, 'month'>

const PATH = '/finance/trends'

/** `/finance/trends`: figures of the last 12 months as charts, with profit and loss by month. */
export const trendsPage = (): AnyPage =>
  page(PATH, {
    render: async ({ api }) => {
      const { data: months } = await api<TrendsJson>('GET /v1/finance/trends')
      const parts = CHARTS.map((each) => trend(months, each))
      return {
        title: 'Trends',
        tabs: FINANCE_TABS,
        main: html`<h1>Trends</h1><p class="lead">The last 12 months by value date (UTC), in USD.
The current month is counted until the last minute.</p><div
class="columns">${parts}</div>${profitAndLoss(months)}`,
      }
    },
  })

interface Trend {
  readonly title: string
  readonly note: string
  /** Figures by the names of their series. */
  readonly figures: Readonly<Record<string, Figure>>
  readonly shape: 'bars' | 'lines'
  readonly empty: string
  /** True for figures of a period, which the month before is compared with. */
  readonly compared: boolean
}

const CHARTS: readonly Trend[] = [
  {
    title: 'Sales',
    note: 'What callers paid: providers’ APIs before refunds, first-party services after them.',
    figures: {
      'providers’ APIs': 'provider_sales_microdollars',
      'first-party services': 'first_party_sales_microdollars',
    },
    shape: 'bars',
    empty: 'No sales yet.',
    compared: true,
  },
  {
    title: 'Commission',
    note: 'After refunds.',
    figures: { commission: 'commission_microdollars' },
    shape: 'bars',
    empty: 'No commission yet.',
    compared: true,
  },
  {
    title: 'Gas',
    note: 'Gas at the price of ETH when it was paid.',
    figures: { gas: 'gas_microdollars' },
    shape: 'bars',
    empty: 'No gas paid yet.',
    compared: true,
  },
  {
    title: 'Payouts',
    note: 'Payouts to providers by the month in which they were started.',
    figures: { payouts: 'payouts_microdollars' },
    shape: 'bars',
    empty: 'No payouts yet.',
    compared: true,
  },
  {
    title: 'Liabilities and cash',
    note: 'At the end of each month. Cash is USDC in platform wallets and in transit.',
    figures: { liabilities: 'liabilities_microdollars', cash: 'cash_microdollars' },
    shape: 'lines',
    empty: 'No balances yet.',
    compared: false,
  },
]

function trend(
  months: readonly Month[],
  { title, note, figures, shape, empty, compared }: Trend,
): Html {
  const series = Object.entries(figures).map(([name, figure]) => ({
    name,
    values: months.map((month) => BigInt(month[figure])),
  }))
  const totals = months.map((_, i) => series.reduce((sum, { values }) => sum + values[i]!, 0n))
  const [before = 0n, now = 0n] = totals.slice(-2)
  const latest = series.map(({ name, values }) => `${name} ${formatDollars(values.at(-1) ?? 0n)}`)
  const drawn = chart({
    label: `${title} by month; in the last one: ${latest.join(', ')}`,
    periods: months.map(({ month }) => month),
    period: 'month',
    series,
    shape,
    format: formatDollars,
    empty,
  })
  const comparison = compared && compare(now, before, formatDollars, 'month')
  return html`<section><h2>${title}</h2>${comparison}${drawn}
<p class="small muted">${note}</p></section>`
}

/** Figures of the current month, and the charts that show whether the platform is sound. */
export function trendSummary(months: readonly Month[]): Html {
  const now = months.at(-1)!
  const sales = now.provider_sales_microdollars + now.first_party_sales_microdollars
  const shown = CHARTS.filter(({ title }) => SUMMARIZED.has(title))
  return html`<h2>This month, ${now.month}</h2>${metrics(
    {
      Sales: formatDollars(sales),
      Commission: formatDollars(now.commission_microdollars),
      Gas: formatDollars(now.gas_microdollars),
      Payouts: formatDollars(now.payouts_microdollars),
      Liabilities: formatDollars(now.liabilities_microdollars),
      Cash: formatDollars(now.cash_microdollars),
    },
    'amounts',
  )}<div class="columns">${shown.map((each) => trend(months, each))}</div><p
class="small muted">As of the last minute. <a href="${PATH}">All trends</a></p>`
}

const SUMMARIZED: ReadonlySet<string> = new Set(['Sales', 'Liabilities and cash'])

/** Income, expenses and net income, the latest month first, with links to the full statements. */
function profitAndLoss(months: readonly Month[]): Html {
  const amount = (figure: Figure) => (month: Month) => formatAmount(month[figure], 'USDC')
  const total = (figure: Figure) =>
    formatAmount(
      months.reduce((sum, month) => sum + BigInt(month[figure]), 0n),
      'USDC',
    )
  const columns = [
    { head: 'Income', figure: 'income_microdollars' },
    { head: 'Expenses', figure: 'expenses_microdollars' },
    { head: 'Net income', figure: 'net_income_microdollars' },
  ] as const
  return html`<h2>Profit and loss by month</h2>${ledgerTable(
    'Profit and loss by month',
    [
      {
        head: 'Month',
        cell: ({ month }: Month) =>
          html`<a href="${withQuery('/finance/reports', { period: month })}">${month}</a>`,
      },
      ...columns.map(({ head, figure }) => ({ head, number: true, cell: amount(figure) })),
    ],
    months.toReversed(),
    [['Total', ...columns.map(({ figure }) => total(figure))]],
  )}<p class="small muted">A month links to its income statement, balance sheet and cash flow.</p>`
}
