import { z } from 'zod'
import type { Listed } from '../../../rest/paging.ts'
import type { PayoutJson, PayoutLineJson, PayoutSumsJson } from '../../../rest/provider/payouts.ts'
import { SELLING } from '../../areas.ts'
import { aligned, alike, count, instantText, money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { type AnyPage, page } from '../../page.ts'
import { cardTable, facts, hex, pager } from '../../table.ts'
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
    To: hex(payout.address),
    Transaction: payout.transaction && hex(payout.transaction),
    Started: instantText(payout.started_at),
    Ended: payout.ended_at && instantText(payout.ended_at),
    'Payout id': html`<code>${payout.payout_id}</code>`,
  })

const SUMS = {
  gross_microdollars: 'Callers paid',
  commission_microdollars: 'Commission',
  refunded_microdollars: 'Refunded',
  other_microdollars: 'Other',
  earned_microdollars: 'Earned',
} as const
type Sum = keyof typeof SUMS

function sums(services: readonly PayoutSumsJson[]): Html {
  const add = (name: Sum | 'calls') => services.reduce((sum, each) => sum + each[name], 0)
  const columns = (Object.keys(SUMS) as Sum[]).map((name) => {
    const write = alike([...services.map((each) => BigInt(each[name])), BigInt(add(name))])
    const cell = (each: PayoutSumsJson) => write(BigInt(each[name]))
    return { head: SUMS[name], number: true, cell, total: write(BigInt(add(name))) }
  })
  return cardTable(
    'By service',
    [
      { head: 'Service', cell: ({ service }) => service },
      { head: 'Calls', number: true, cell: ({ calls }) => count(calls) },
      ...columns,
    ],
    services,
    services.length > 1
      ? [['Total', count(add('calls')), ...columns.map(({ total }) => total)]]
      : [],
  )
}

/** Entries that change what a provider has, as people say it. */
const EVENTS: Readonly<Record<string, string>> = {
  'call.settled': 'call',
  'call.sold': 'call, paid on the spot',
  'call.sponsored': 'call, paid by the house',
  'call.reversed': 'refund',
  'receivable.recovered': 'refund after an earlier payout',
  'payout.failed': 'payout that failed before',
  'balance.adjusted': 'correction',
}

const lineTable = (lines: readonly PayoutLineJson[]): Html =>
  cardTable(
    'Statement',
    [
      { head: 'When', whole: true, cell: ({ at }) => instantText(at) },
      { head: 'What', cell: ({ event }) => EVENTS[event] ?? event },
      { head: 'Service', cell: ({ service }) => service },
      {
        head: 'Caller paid',
        number: true,
        cell: aligned(lines, (each) => each.gross_microdollars),
      },
      {
        head: 'Commission',
        number: true,
        cell: aligned(lines, (each) => each.commission_microdollars),
      },
      { head: 'Amount', number: true, cell: aligned(lines, (each) => each.amount_microdollars) },
      { head: 'Entry', whole: true, cell: (each) => html`<code>${each.entry_id}</code>` },
    ],
    lines,
  )
