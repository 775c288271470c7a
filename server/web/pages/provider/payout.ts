import { z } from 'zod'
import type { Listed } from '../../../rest/paging.ts'
import type { PayoutJson, PayoutLineJson, PayoutSumsJson } from '../../../rest/provider-payouts.ts'
import { SELLING } from '../../areas.ts'
import { count, instantText, money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { type AnyPage, page } from '../../page.ts'
import { facts, pager, table } from '../../table.ts'
import { payoutBadge } from './payouts.ts'

type Whole = PayoutJson & { readonly services: readonly PayoutSumsJson[] }

/** `/provider/payouts/{id}`: one payout, and the entries of the ledger that it paid for. */
export const payoutPage = (): AnyPage =>
  page({
    path: '/provider/payouts/{id}',
    person: true,
    query: z.object({ cursor: z.string().max(500).optional() }),
    show: async ({ ask, params, query, path }) => {
      const [payout, lines] = await Promise.all([
        ask<Whole>('GET /v1/provider/payouts/{id}', { params }),
        ask<Listed<PayoutLineJson>>('GET /v1/provider/payouts/{id}/statement', {
          params,
          query: { limit: '50', ...query },
        }),
      ])
      const id = payout.payout_id
      return {
        title: `Payout of ${payout.day}`,
        area: SELLING,
        tab: 'Payouts',
        main: html`<p class="crumbs"><a href="/provider/payouts">Payouts</a></p>
<h1>Payout of ${payout.day} ${payoutBadge(payout)}</h1>${about(payout)}<h2>By service</h2>${sums(
          payout.services,
        )}<h2>Statement</h2><p>Each line is an entry of the ledger; all of them add up to the
transfer.</p><p><a class="button plain" href="/v1/provider/payouts/${id}/statement.csv">
Download as CSV</a></p>${lineTable(lines.data)}${pager(path, query, lines.next_cursor)}`,
      }
    },
  })

const about = (payout: PayoutJson): Html =>
  facts({
    Amount: html`<strong>${money(payout.amount_microdollars)}</strong>`,
    'Recovered before': payout.recovered_microdollars > 0 && money(payout.recovered_microdollars),
    To: html`<code>${payout.address}</code>`,
    Transaction: payout.transaction && html`<code>${payout.transaction}</code>`,
    Started: instantText(payout.started_at),
    Ended: payout.ended_at && instantText(payout.ended_at),
    'Payout id': html`<code>${payout.payout_id}</code>`,
  })

const sums = (services: readonly PayoutSumsJson[]): Html =>
  table(
    'By service',
    [
      { head: 'Service', cell: ({ service }) => service },
      { head: 'Calls', number: true, cell: ({ calls }) => count(calls) },
      { head: 'Callers paid', number: true, cell: (each) => money(each.gross_microdollars) },
      { head: 'Commission', number: true, cell: (each) => money(each.commission_microdollars) },
      { head: 'Refunded', number: true, cell: (each) => money(each.refunded_microdollars) },
      { head: 'Other', number: true, cell: (each) => money(each.other_microdollars) },
      { head: 'Earned', number: true, cell: (each) => money(each.earned_microdollars) },
    ],
    services,
  )

const lineTable = (lines: readonly PayoutLineJson[]): Html =>
  table(
    'Statement',
    [
      { head: 'When', whole: true, cell: ({ at }) => instantText(at) },
      { head: 'Event', cell: ({ event }) => event },
      { head: 'Service', cell: ({ service }) => service },
      { head: 'Caller paid', number: true, cell: (each) => money(each.gross_microdollars) },
      { head: 'Commission', number: true, cell: (each) => money(each.commission_microdollars) },
      { head: 'Amount', number: true, cell: (each) => money(each.amount_microdollars) },
      { head: 'Entry', whole: true, cell: (each) => html`<code>${each.entry_id}</code>` },
    ],
    lines,
  )
