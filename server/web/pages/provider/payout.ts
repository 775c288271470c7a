import { z } from 'zod'
import type { ListPage } from '../../../rest/paging.ts'
import type { PayoutJson, PayoutLineJson, PayoutSumsJson } from '../../../rest/provider/payouts.ts'
import { documentPath } from '../../documents-table.ts'
import {
  alignedColumn,
  alignedFormatter,
  formatCount,
  formatDollars,
  formatTime,
} from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { SELLING_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { breakableHex, cardTable, definitionList, pager, shortHash, timeAgo } from '../../table.ts'
import { payoutBadge } from './payouts.ts'

type PayoutDetailsJson = PayoutJson & { readonly services: readonly PayoutSumsJson[] }

/** `/provider/payouts/{id}`: one payout and the ledger entries it covers. */
export const payoutPage = (): AnyPage =>
  page('/provider/payouts/{id}', {
    query: z.object({ cursor: z.string().max(500).optional() }),
    render: async ({ api, params, query, path }) => {
      const [payout, lines] = await Promise.all([
        api<PayoutDetailsJson>('GET /v1/provider/payouts/{id}', { params }),
        api<ListPage<PayoutLineJson>>('GET /v1/provider/payouts/{id}/statement', {
          params,
          query: { limit: '50', ...query },
        }),
      ])
      const id = payout.payout_id
      return {
        title: `Payout of ${payout.day}`,
        tabs: SELLING_TABS,
        tab: 'Payouts',
        main: html`<p class="breadcrumb"><a href="/provider/payouts">Payouts</a></p>
<h1>Payout of ${payout.day} ${payoutBadge(payout)}</h1>${about(payout)}<h2>By
service</h2>${serviceTable(
          payout.services,
        )}<p>Commission is rounded down at each call. Fractions of a microdollar add up, and
are due on the sum of the sales of a service.${
          payout.services.some(hasRefunds) &&
          html` Refunds are prices in full; Owed is your share of refunds of calls that you had been
paid for, which later payouts deduct.`
        }</p>
<h2>Statement</h2><p>Each line is a ledger entry. The lines add up to the payout
amount.</p><p class="actions"><a class="button plain"
href="/v1/provider/payouts/${id}/statement.csv">Download CSV</a>${
          payout.state !== 'under_way' &&
          html` <a class="button plain" href="${documentPath('commission', id)}">Commission
statement</a>`
        }</p>${lineTable(lines.data)}${pager(path, query, lines.next_cursor)}`,
      }
    },
  })

const about = (payout: PayoutJson): Html =>
  definitionList({
    Amount: html`<strong>${formatDollars(payout.amount_microdollars)}</strong>`,
    'Deducted refunds':
      payout.recovered_microdollars > 0 && formatDollars(payout.recovered_microdollars),
    To: breakableHex(payout.address),
    Transaction: payout.transaction && shortHash(payout.transaction),
    Started: formatTime(payout.started_at),
    Ended: payout.ended_at && formatTime(payout.ended_at),
    'Payout id': html`<code>${payout.payout_id}</code>`,
  })

const SUMS = {
  gross_microdollars: 'Callers paid',
  commission_microdollars: 'Commission',
  refunds_microdollars: 'Refunds',
  commission_refunded_microdollars: 'Commission returned',
  owed_microdollars: 'Owed',
  recovered_microdollars: 'Debts deducted',
  other_microdollars: 'Other',
  earned_microdollars: 'Earned',
} as const
type Sum = keyof typeof SUMS

/** Sums that are shown even if they are zero. */
const MAIN_SUMS: ReadonlySet<Sum> = new Set([
  'gross_microdollars',
  'commission_microdollars',
  'earned_microdollars',
])

const hasRefunds = (sums: PayoutSumsJson): boolean =>
  sums.refunds_microdollars !== 0 || sums.owed_microdollars !== 0

function serviceTable(services: readonly PayoutSumsJson[]): Html {
  const totalOf = (name: Sum | 'calls') => services.reduce((sum, each) => sum + each[name], 0)
  const shown = (Object.keys(SUMS) as Sum[]).filter(
    (name) => MAIN_SUMS.has(name) || services.some((each) => each[name] !== 0),
  )
  const columns = shown.map((name) => {
    const total = totalOf(name)
    const format = alignedFormatter([...services.map((each) => each[name]), total])
    const cell = (each: PayoutSumsJson) => format(each[name])
    return { head: SUMS[name], number: true, cell, total: format(total) }
  })
  return cardTable(
    'By service',
    [
      { head: 'Service', cell: ({ service }) => service },
      { head: 'Calls', number: true, cell: ({ calls }) => formatCount(calls) },
      ...columns,
    ],
    services,
    services.length > 1
      ? [['Total', formatCount(totalOf('calls')), ...columns.map(({ total }) => total)]]
      : [],
  )
}

/** Texts by ledger event. */
const EVENT_TEXTS: Readonly<Record<string, string>> = {
  'call.settled': 'call',
  'call.sold': 'call, paid per request',
  'call.reversed': 'refund',
  'sale.reversed': 'refund',
  'receivable.recovered': 'refund after an earlier payout',
  'commission.rounded': 'commission on the sum of the sales',
  'payout.failed': 'failed payout, returned',
  'balance.adjusted': 'correction',
}

/** Amounts of a line, by the heads of their columns. */
const LINE_AMOUNTS = {
  gross_microdollars: 'Caller paid',
  commission_microdollars: 'Commission',
  refunds_microdollars: 'Refunds',
  commission_refunded_microdollars: 'Commission returned',
  owed_microdollars: 'Owed',
  amount_microdollars: 'Amount',
} as const
type LineAmount = keyof typeof LINE_AMOUNTS

/** Amounts that are shown even if they are zero. */
const MAIN_AMOUNTS: ReadonlySet<LineAmount> = new Set([
  'gross_microdollars',
  'commission_microdollars',
  'amount_microdollars',
])

function lineTable(lines: readonly PayoutLineJson[]): Html {
  const shown = (Object.keys(LINE_AMOUNTS) as LineAmount[]).filter(
    (name) => MAIN_AMOUNTS.has(name) || lines.some((each) => each[name] !== 0),
  )
  return cardTable(
    'Statement',
    [
      { head: 'Time', noWrap: true, cell: ({ at }) => timeAgo(at) },
      { head: 'Event', cell: ({ event }) => EVENT_TEXTS[event] ?? event },
      { head: 'Service', cell: ({ service }) => service },
      ...shown.map((name) => ({
        head: LINE_AMOUNTS[name],
        number: true,
        cell: alignedColumn(lines, (each) => each[name]),
      })),
      { head: 'Entry', cell: (each) => shortHash(each.entry_id) },
    ],
    lines,
  )
}
