import { z } from 'zod'
import type { EntryJson, TrailJson } from '../../../rest/finance/journal.ts'
import type { Listed } from '../../../rest/paging.ts'
import { FINANCE } from '../../areas.ts'
import { someDollars } from '../../fields.ts'
import { fieldsOf, filterField, filters, form, optionsOf } from '../../form.ts'
import { milliseconds, money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { facts, pager } from '../../table.ts'
import {
  accountLink,
  credit,
  debit,
  entryPath,
  optionalDay,
  postingTable,
  precise,
  reason,
  reasonField,
} from './parts.ts'

const PATH = '/finance/journal'
const PAGE = '30'
const EVENTS = [
  'call.reserved',
  'call.settled',
  'call.released',
  'call.expired',
  'call.sold',
  'call.sponsored',
  'call.reversed',
  'credits.purchased',
  'credits.transferred',
  'credits.granted',
  'receipt.confirmed',
  'receipt.vanished',
  'external.confirmed',
  'external.refunded',
  'external.lost',
  'payout.started',
  'payout.confirmed',
  'payout.failed',
  'receivable.recovered',
  'receivable.written-off',
  'gas.paid',
  'facilitator.charged',
  'wallet.moved',
  'surplus.found',
  'shortfall.found',
  'deposit.identified',
  'balance.adjusted',
  'balance.opened',
]
const CHOICES = Object.fromEntries([['', 'every event'], ...EVENTS.map((name) => [name, name])])

/** `/finance/journal`: the entries, the newest first. */
export const journalPage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({
      id: z.string().trim().max(40).default(''),
      event: z.string().max(40).default(''),
      from: optionalDay,
      to: optionalDay,
      cursor: z.string().max(2_000).optional(),
    }),
    show: async ({ ask, query }) => {
      const { id, event, from, to, cursor } = query
      if (id !== '') return { to: entryPath(encodeURIComponent(id)) }
      const found = await ask<Listed<EntryJson>>('GET /v1/finance/journal', {
        query: { limit: PAGE, event, from, to, cursor },
      })
      return {
        title: 'Journal',
        area: FINANCE,
        tab: 'Journal',
        main: html`<h1>Journal</h1><p class="lead">Every entry, the newest first; each leads to its
call, and each account to its statement.</p>${filters(PATH, [
          filterField(
            'id',
            'Call or entry',
            html`<input id="filter-id" name="id" size="20" placeholder="019…" autocomplete="off">`,
          ),
          filterField(
            'event',
            'Event',
            html`<select id="filter-event" name="event">${optionsOf(CHOICES, event)}</select>`,
          ),
          dayFilter('from', 'From', from),
          dayFilter('to', 'To', to),
        ])}${
          found.data.length === 0
            ? empty(found.has_more ? 'None among those that were looked at.' : 'No such entries.')
            : entryTable(found.data)
        }${pager(PATH, { event, from, to, cursor }, found.next_cursor)}`,
      }
    },
  })

const dayFilter = (name: string, label: string, value: string | undefined): Html =>
  filterField(
    name,
    label,
    html`<input type="date" id="filter-${name}" name="${name}" value="${value ?? ''}">`,
  )

/** A row for each posting; when and what stand once beside all of an entry. */
const entryTable = (entries: readonly EntryJson[]): Html =>
  html`<div class="wide books entries" role="region" aria-label="Journal" tabindex="0"><table>
<thead><tr><th scope="col">Booked (UTC)</th><th scope="col">Event</th><th scope="col">Account</th>
<th scope="col" class="number">Debit</th><th scope="col" class="number">Credit</th>
<th scope="col">Asset</th></tr></thead>${entries.map(entryRows)}</table></div>`

const entryRows = ({ id, event, booked_at: at, postings }: EntryJson): Html => {
  const rows = html` rowspan="${postings.length}"`
  const once = html`<td${rows} class="whole"><a href="${entryPath(id)}">${precise(at)}</a></td>
<td${rows}>${event}</td>`
  return html`<tbody>${postings.map(
    ({ account, amount, asset }, i) => html`<tr>${i === 0 && once}<td class="account">${accountLink(
      account,
    )}</td>
<td class="number" data-head="Debit">${debit(amount, asset)}</td>
<td class="number" data-head="Credit">${credit(amount, asset)}</td><td>${asset}</td></tr>`,
  )}</tbody>`
}

/** `/finance/entries/{id}`: all that is known of a call, purchase, payment or correction. */
export const entryPage = (): AnyPage =>
  page({
    path: '/finance/entries/{id}',
    person: true,
    query: z.object({}),
    acts: {
      refund: act({
        fields: z.object({ amount: someDollars.or(z.literal('')).default(''), reason }),
        run: async ({ ask, params, path }, { amount, reason: why }) => {
          await ask('POST /v1/finance/calls/{id}/refund', {
            params,
            body: { ...(amount !== '' && { amount_microdollars: amount }), reason: why },
          })
          return { to: `${path}?done=refunded` }
        },
      }),
    },
    done: { refunded: 'The call is refunded.' },
    show: async (request) => {
      const { ask, params } = request
      const trail = await ask<TrailJson>('GET /v1/finance/entries/{id}', { params })
      const [first] = trail.entries
      return {
        title: `Entry ${params['id']}`,
        area: FINANCE,
        tab: 'Journal',
        main: html`<p class="crumbs"><a href="${PATH}">Journal</a></p>
<h1>${trail.call ? 'Call' : (first?.event ?? 'Entry')}</h1>
<p class="lead"><code>${params['id']}</code></p>${callOf(trail)}${
          trail.entries.length === 1 && !trail.call
            ? trail.entries.map(entryOf)
            : trail.entries.length > 0 && html`<h2>Entries</h2>${trail.entries.map(entryPart)}`
        }${refundForm(request, trail)}`,
      }
    },
  })

const entryPart = (entry: EntryJson): Html =>
  html`<section><h3>${entry.event}</h3>${entryOf(entry)}</section>`

const entryOf = (entry: EntryJson): Html =>
  html`${facts({
    Booked: `${precise(entry.booked_at)} UTC`,
    'Value date': entry.value_at !== entry.booked_at && `${precise(entry.value_at)} UTC`,
    Place: `shard ${entry.shard}, number ${entry.seq}`,
    ...Object.fromEntries(
      Object.entries(entry.meta ?? {}).map(([name, value]) => [nameOf(name), textOf(value)]),
    ),
  })}${postingTable(entry)}`

/** `value_date` is `Value date`. */
const nameOf = (name: string): string =>
  name === 'tx'
    ? 'Transaction'
    : `${name.slice(0, 1).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`

const textOf = (value: unknown): Html =>
  typeof value === 'string' && !/^0x[\da-f]+$/i.test(value)
    ? html`${value}`
    : html`<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`

function callOf({ call, entries }: TrailJson): Html | undefined {
  if (!call) return undefined
  const others = entries.filter(({ id }) => id !== call.id)
  return html`<section id="call">${facts({
    Call:
      entries.some(({ id }) => id !== call.id) &&
      html`<a href="${entryPath(call.id)}"><code>${call.id}</code></a>`,
    At: `${precise(call.at)} UTC`,
    Endpoint: html`<code>${call.endpoint}</code>`,
    Key: call.key_id !== null && html`<code>${call.key_id}</code>`,
    'Paid by': call.source,
    Charged: money(call.charged_microdollars),
    Outcome: `${call.outcome}, ${call.status}${call.reason === null ? '' : `, ${call.reason}`}`,
    Took: milliseconds(call.latency_ms),
    'Price version': call.price_version,
    Request: html`<code>${call.request_id}</code>`,
    'Other entries':
      others.length > 0 &&
      others.map(({ id, event }) => html`<a href="${entryPath(id)}">${event}</a> `),
  })}</section>`
}

function refundForm({ sent }: PageRequest, { entries }: TrailJson): Html | undefined {
  const settled = entries.find(({ event }) => event === 'call.settled')
  if (!settled || entries.some(({ event }) => event === 'call.reversed')) return undefined
  const fields = fieldsOf('refund', sent)
  return html`<h2>Refund the call</h2>${form({
    act: 'refund',
    submit: 'Refund',
    kind: 'danger',
    fields: [
      fields.text({
        name: 'amount',
        label: 'Amount in dollars',
        hint: 'Left out: all that was charged.',
        numeric: true,
        size: 12,
      }),
      reasonField(fields),
    ],
  })}`
}
