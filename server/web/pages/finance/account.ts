import { z } from 'zod'
import type { StatementJson } from '../../../rest/finance-statements.ts'
import { FINANCE } from '../../areas.ts'
import { filterField, filters } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, page } from '../../page.ts'
import { address, facts, pager, table } from '../../table.ts'
import {
  accountLink,
  accountPath,
  credit,
  debit,
  entryPath,
  optionalDay,
  precise,
  units,
} from './parts.ts'

const PAGE = '50'

/** `/finance/accounts/{account}`: the statement of an account. */
export const accountPage = (): AnyPage =>
  page({
    path: '/finance/accounts/{account}',
    person: true,
    query: z.object({
      from: optionalDay,
      to: optionalDay,
      cursor: z.string().max(500).optional(),
    }),
    show: async ({ ask, params, query: { from, to, cursor } }) => {
      const account = params['account'] ?? ''
      const path = accountPath(account)
      const found = await ask<StatementJson>('GET /v1/finance/accounts/{account}/statement', {
        params,
        query: { limit: PAGE, from, to, cursor },
      })
      const file = `/v1/finance/accounts/${encodeURIComponent(account)}/statement.csv`
      return {
        title: account,
        area: FINANCE,
        tab: 'Trial balance',
        main: html`<p class="crumbs"><a href="/finance/trial-balance">Trial balance</a></p>
<h1>Statement</h1><p class="lead"><code>${account}</code></p>${filters(path, [
          filterField(
            'from',
            'From',
            html`<input type="date" id="filter-from" name="from" value="${from ?? ''}">`,
          ),
          filterField(
            'to',
            'To',
            html`<input type="date" id="filter-to" name="to" value="${to ?? ''}">`,
          ),
        ])}${sums(found)}<p class="actions"><a class="button plain" download href="${address(file, {
          from,
          to,
        })}">Download as CSV</a></p>${movements(found)}${pager(
          path,
          { from, to, cursor },
          found.next_cursor,
        )}`,
      }
    },
  })

const sums = ({ asset, opening, debits, credits, closing }: StatementJson): Html =>
  facts({
    Opening: `${units(opening, asset)} ${asset}`,
    Debits: units(debits, asset),
    Credits: units(credits, asset),
    Closing: html`<strong>${units(closing, asset)} ${asset}</strong>`,
  })

function movements({ data, asset }: StatementJson): Html {
  if (data.length === 0) return empty('Nothing was booked on it in this time.')
  return table(
    'Movements',
    [
      {
        head: 'Value date (UTC)',
        whole: true,
        cell: (line) => html`<a href="${entryPath(line.id)}">${precise(line.value_at)}</a>`,
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
        head: 'Against',
        cell: ({ contra }) =>
          contra.map((name, i) => html`${i > 0 && html`<br>`}${accountLink(name)}`),
      },
      { head: 'Debit', number: true, cell: ({ amount }) => debit(amount, asset) },
      { head: 'Credit', number: true, cell: ({ amount }) => credit(amount, asset) },
      {
        head: 'Balance, credit-positive',
        number: true,
        cell: ({ balance }) => units(balance, asset),
      },
    ],
    data,
  )
}
