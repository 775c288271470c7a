import { z } from 'zod'
import { type Clock, monthName } from '../../../../core/clock.ts'
import type { FinancialStatementJson } from '../../../rest/finance/reports.ts'
import { filterBar, textFilter } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { ledgerTable } from '../../table.ts'
import { accountLink, balancePath, formatAmount, groupLink, optionalPeriod } from './components.ts'

const PATH = '/finance/reports'
const TITLES = {
  'income-statement': 'Income statement',
  'balance-sheet': 'Balance sheet',
  'cash-flow': 'Cash flow statement',
} as const

/** `/finance/reports`: income statement, balance sheet and cash flow of a period. */
export const reportsPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page(PATH, {
    query: z.object({ period: optionalPeriod, compare: optionalPeriod }),
    render: async ({ api, query: { period: chosen, compare } }) => {
      const period = chosen === '' ? monthName(clock.now()) : chosen
      const query = { period, ...(compare !== '' && { compare }) }
      const { data: found } = await api<{ data: readonly FinancialStatementJson[] }>(
        'GET /v1/finance/statements',
        { query },
      )
      return {
        title: 'Reports',
        tabs: FINANCE_TABS,
        main: html`<h1>Reports</h1><p class="lead">In USD, by value date (UTC). One USDC counts as
one USD. A period that is not over is reported until now.</p>${filterBar(PATH, [
          textFilter('period', 'Period', period, 8),
          textFilter('compare', 'Compare with', found[0]!.periods[1]!.name, 8),
        ])}${found.map(statementPart)}`,
      }
    },
  })

function statementPart(found: FinancialStatementJson): Html {
  const rows = [
    ...found.sections.flatMap(({ name, lines, totals }) => [
      ...lines,
      { name: `Total ${name}`, amounts: totals },
    ]),
    ...found.results.filter(({ name }) => name !== 'difference'),
  ]
  const title = TITLES[found.statement]
  const columns = found.periods.map(({ name }, i) => ({
    head: name,
    number: true,
    cell: ({ amounts }: (typeof rows)[number]) => formatAmount(amounts[i]!, 'USDC'),
  }))
  return html`<h2>${title}</h2>${ledgerTable(
    title,
    [{ head: 'Account', cell: ({ name }) => nameOf(name) }, ...columns],
    rows,
  )}${differenceOf(found)}`
}

const RETAINED_EARNINGS = 'equity:retained-earnings:'

const nameOf = (name: string): Html => {
  if (name.startsWith(RETAINED_EARNINGS)) {
    return html`Retained earnings, ${name.slice(RETAINED_EARNINGS.length)}`
  }
  if (!name.includes(':')) {
    return html`<strong>${name.slice(0, 1).toUpperCase()}${name.slice(1)}</strong>`
  }
  return name.endsWith(':') ? groupLink(name, balancePath(name)) : accountLink(name)
}

const differenceOf = ({ results }: FinancialStatementJson): Html | false => {
  const amounts = results.find(({ name }) => name === 'difference')?.amounts ?? []
  return (
    amounts.some((amount) => amount !== 0) &&
    html`<div class="box bad" role="alert"><p><strong>Both sides differ by:</strong>
${amounts.map((amount) => formatAmount(amount, 'USDC')).join(', ')}.</p></div>`
  )
}
