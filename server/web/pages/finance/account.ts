import { z } from 'zod'
import type { StatementJson } from '../../../rest/finance/statements.ts'
import { FINANCE } from '../../areas.ts'
import { filterField, filters } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, page } from '../../page.ts'
import { address, cardTable, pager } from '../../table.ts'
import {
  accountLink,
  accountPath,
  credit,
  debit,
  entryPath,
  optionalDay,
  precise,
  sided,
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
<h1>Statement</h1><p class="lead"><code>${account}</code>, in ${found.asset}${
          from !== undefined && `, from ${from}`
        }${to !== undefined && `, to ${to}`}</p>${filters(path, [
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
  html`<dl class="figures amounts"><div><dt>Opening</dt><dd>${sided(opening, asset)}</dd></div>
<div><dt>Debits</dt><dd>${units(debits, asset)}</dd></div>
<div><dt>Credits</dt><dd>${units(credits, asset)}</dd></div>
<div><dt>Closing</dt><dd>${sided(closing, asset)}</dd></div></dl>`

function movements({ data, asset }: StatementJson): Html {
  if (data.length === 0) return empty('Nothing was booked on it in this time.')
  return cardTable(
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
        head: 'Balance',
        number: true,
        cell: ({ balance }) => sided(balance, asset),
      },
    ],
    data,
  )
}
