import { z } from 'zod'
import type { StatementJson } from '../../../rest/finance/statements.ts'
import { filterBar, periodFilters } from '../../form.ts'
import { optionalDay } from '../../form-schemas.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { cardTable, metrics, pager, withQuery } from '../../table.ts'
import {
  accountLink,
  accountPath,
  credit,
  debit,
  entryPath,
  formatAmount,
  formatBalance,
  formatSeconds,
} from './components.ts'

const PAGE_SIZE = '50'

/** `/finance/accounts/{account}`: statement of a ledger account. */
export const accountPage = (): AnyPage =>
  page('/finance/accounts/{account}', {
    query: z.object({ from: optionalDay, to: optionalDay, cursor: z.string().max(500).optional() }),
    render: async ({ api, params, query: { from, to, cursor } }) => {
      const account = params['account'] ?? ''
      const path = accountPath(account)
      const statement = await api<StatementJson>('GET /v1/finance/accounts/{account}/statement', {
        params,
        query: { limit: PAGE_SIZE, from, to, cursor },
      })
      const file = `/v1/finance/accounts/${encodeURIComponent(account)}/statement.csv`
      return {
        title: account,
        tabs: FINANCE_TABS,
        tab: 'Trial balance',
        main: html`<p class="breadcrumb"><a href="/finance/trial-balance">Trial balance</a></p>
<h1>Statement</h1><p class="lead"><code>${account}</code>, in ${statement.asset}${
          from !== undefined && `, from ${from}`
        }${to !== undefined && `, to ${to}`}</p>${filterBar(path, [
          periodFilters(from, to),
        ])}${summary(statement)}<p class="actions"><a class="button plain" download
href="${withQuery(file, { from, to })}">Download CSV</a></p>${postingsPart(statement)}${pager(
          path,
          { from, to, cursor },
          statement.next_cursor,
        )}`,
      }
    },
  })

const summary = ({ asset, opening, debits, credits, closing }: StatementJson): Html =>
  metrics(
    {
      Opening: formatBalance(opening, asset),
      Debits: formatAmount(debits, asset),
      Credits: formatAmount(credits, asset),
      Closing: formatBalance(closing, asset),
    },
    'amounts',
  )

function postingsPart({ data, asset }: StatementJson): Html {
  if (data.length === 0) return emptyState('No postings in this period.')
  return cardTable(
    'Postings',
    [
      {
        head: 'Value date (UTC)',
        noWrap: true,
        cell: (line) => html`<a href="${entryPath(line.id)}">${formatSeconds(line.value_at)}</a>`,
      },
      {
        head: 'Event',
        cell: ({ event, reason, author }) =>
          html`${event}${
            reason !== null &&
            html`<br><span class="small muted">${reason}${author !== null && ` (${author})`}</span>`
          }`,
      },
      {
        head: 'Contra accounts',
        cell: ({ contra }) =>
          contra.map((name, i) => html`${i > 0 && html`<br>`}${accountLink(name)}`),
      },
      { head: 'Debit', number: true, cell: ({ amount }) => debit(amount, asset) },
      { head: 'Credit', number: true, cell: ({ amount }) => credit(amount, asset) },
      { head: 'Balance', number: true, cell: ({ balance }) => formatBalance(balance, asset) },
    ],
    data,
  )
}
