import { z } from 'zod'
import { EVENT_RULES } from '../../../../core/ledger/verify/rules.ts'
import type { RefundJson } from '../../../rest/finance/adjustments.ts'
import type { EntryJson, TrailJson } from '../../../rest/finance/journal.ts'
import type { ListPage } from '../../../rest/paging.ts'
import {
  filterBar,
  filterField,
  form,
  formFields,
  periodFilters,
  selectFilter,
  textFilter,
} from '../../form.ts'
import { optionalDay, requiredDollars } from '../../form-schemas.ts'
import { formatDollars, formatDuration } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { definitionList, pager } from '../../table.ts'
import {
  accountLink,
  credit,
  debit,
  entryPath,
  formatSeconds,
  postingTable,
  reason,
  reasonField,
} from './components.ts'

const PATH = '/finance/journal'
const PAGE_SIZE = '30'
const EVENTS = [...new Set(Object.values(EVENT_RULES).map(({ event }) => event))].toSorted()
const EVENT_OPTIONS = {
  '': 'All events',
  ...Object.fromEntries(EVENTS.map((name) => [name, name])),
}

/** `/finance/journal`: all entries, newest first. */
export const journalPage = (): AnyPage =>
  page(PATH, {
    query: z.object({
      id: z.string().trim().max(66).default(''),
      author: z.string().trim().max(200).default(''),
      event: z.string().max(40).default(''),
      from: optionalDay,
      to: optionalDay,
      cursor: z.string().max(2_000).optional(),
    }),
    render: async ({ api, query }) => {
      const { id, event, author, from, to, cursor } = query
      const isHash = /^0x[0-9a-fA-F]{64}$/.test(id)
      if (id !== '' && !isHash) return { to: entryPath(encodeURIComponent(id)) }
      const found = await api<ListPage<EntryJson>>('GET /v1/finance/journal', {
        query: isHash ? { transaction: id } : { limit: PAGE_SIZE, event, author, from, to, cursor },
      })
      return {
        title: 'Journal',
        tabs: FINANCE_TABS,
        main: html`<h1>Journal</h1><p class="lead">All entries, newest first. Times link to the
entry and its call, accounts to their statement.</p>${filterBar(PATH, [
          filterField(
            'id',
            'Call, entry or transaction',
            html`<input id="filter-id" name="id" size="20" placeholder="019…" autocomplete="off">`,
          ),
          selectFilter('event', 'Event', EVENT_OPTIONS, event),
          textFilter('author', 'Author', author, 14),
          periodFilters(from, to),
        ])}${
          found.data.length === 0
            ? emptyState(
                found.has_more
                  ? 'No matches yet. Continue on the next page.'
                  : 'No entries match these filters.',
              )
            : entryTable(found.data)
        }${pager(PATH, { event, author, from, to, cursor }, found.next_cursor)}`,
      }
    },
  })

/** One row per posting; time and event span the rows of their entry. */
const entryTable = (entries: readonly EntryJson[]): Html =>
  html`<div class="table-box ledger entries" role="region" aria-label="Journal" tabindex="0"><table>
<thead><tr><th scope="col">Posted (UTC)</th><th scope="col">Event</th><th scope="col">Account</th>
<th scope="col" class="number">Debit</th><th scope="col" class="number">Credit</th>
<th scope="col">Asset</th></tr></thead>${entries.map(entryRows)}</table></div>`

const entryRows = ({ id, event, booked_at: at, postings }: EntryJson): Html => {
  const rows = html` rowspan="${Math.max(1, postings.length)}"`
  const spanningCells = html`<td${rows} class="nowrap"><a
href="${entryPath(id)}">${formatSeconds(at)}</a></td>
<td${rows}>${event}</td>`
  if (postings.length === 0) {
    return html`<tbody><tr>${spanningCells}<td colspan="4">No postings.</td></tr></tbody>`
  }
  return html`<tbody>${postings.map(
    (
      { account, amount, asset },
      i,
    ) => html`<tr>${i === 0 && spanningCells}<td class="account">${accountLink(account)}</td>
<td class="number" data-head="Debit">${debit(amount, asset)}</td>
<td class="number" data-head="Credit">${credit(amount, asset)}</td><td>${asset}</td></tr>`,
  )}</tbody>`
}

/** `/finance/entries/{id}`: a call, purchase, payment or correction with all its entries. */
export const entryPage = (): AnyPage =>
  page('/finance/entries/{id}', {
    actions: {
      refund: formAction({
        fields: z.object({ amount: requiredDollars.or(z.literal('')).default(''), reason }),
        run: async ({ api, params, path }, { amount, reason: why }) => {
          const { state } = await api<RefundJson>('POST /v1/finance/calls/{id}/refund', {
            params,
            body: { ...(amount !== '' && { amount_microdollars: amount }), reason: why },
          })
          return { to: `${path}?done=${state === 'proposed' ? 'proposed' : 'refunded'}` }
        },
      }),
    },
    notices: {
      refunded: 'Call refunded.',
      proposed: 'Refund proposed: it exceeds your daily limit, so a second person must confirm it.',
    },
    render: async (request) => {
      const { api, params } = request
      const trail = await api<TrailJson>('GET /v1/finance/entries/{id}', { params })
      const [first] = trail.entries
      return {
        title: `Entry ${params['id']}`,
        tabs: FINANCE_TABS,
        tab: 'Journal',
        main: html`<p class="breadcrumb"><a href="${PATH}">Journal</a></p>
<h1>${trail.call ? 'Call' : (first?.event ?? 'Entry')}</h1>
<p class="lead"><code>${params['id']}</code></p>${callPart(trail)}${
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
  html`${definitionList({
    Posted: `${formatSeconds(entry.booked_at)} UTC`,
    'Value date': entry.value_at !== entry.booked_at && `${formatSeconds(entry.value_at)} UTC`,
    Position: `shard ${entry.shard}, number ${entry.seq}`,
    ...Object.fromEntries(
      Object.entries(entry.meta ?? {}).map(([name, value]) => [metaLabel(name), metaValue(value)]),
    ),
  })}${postingTable(entry)}`

/** `value_date` → `Value date` */
const metaLabel = (name: string): string =>
  name === 'tx'
    ? 'Transaction'
    : `${name.slice(0, 1).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`

const metaValue = (value: unknown): Html =>
  typeof value === 'string' && !/^0x[\da-f]+$/i.test(value)
    ? html`${value}`
    : html`<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`

function callPart({ call, entries }: TrailJson): Html | undefined {
  if (!call) return undefined
  const others = entries.filter(({ id }) => id !== call.id)
  return html`<section id="call">${definitionList({
    Call:
      entries.some(({ id }) => id !== call.id) &&
      html`<a href="${entryPath(call.id)}"><code>${call.id}</code></a>`,
    Time: `${formatSeconds(call.at)} UTC`,
    Endpoint: html`<code>${call.endpoint}</code>`,
    Key: call.key_id !== null && html`<code>${call.key_id}</code>`,
    'Paid from': call.source,
    State: call.state,
    Charged: formatDollars(call.charged_microdollars),
    Refunded: call.refunded_microdollars > 0 && formatDollars(call.refunded_microdollars),
    Outcome: `${call.outcome}, ${call.status}${call.reason === null ? '' : `, ${call.reason}`}`,
    Latency: formatDuration(call.latency_ms),
    'Price version': call.price_version,
    Request: html`<code>${call.request_id}</code>`,
    'Other entries':
      others.length > 0 &&
      others.map(({ id, event }) => html`<a href="${entryPath(id)}">${event}</a> `),
  })}</section>`
}

function refundForm({ submission }: PageRequest, { call, entries }: TrailJson): Html | undefined {
  const settled = entries.find(({ event }) => event === 'call.settled' || event === 'call.sold')
  if (!settled || call?.state === 'refunded') return undefined
  if (entries.some(({ event }) => event.endsWith('.reversed'))) return undefined
  const fields = formFields('refund', submission)
  return html`<h2>Refund</h2>${form({
    act: 'refund',
    submit: 'Refund call',
    kind: 'danger',
    fields: [
      fields.text({
        name: 'amount',
        label: 'Amount (USD)',
        hint: 'Leave empty to refund the full charge.',
        numeric: true,
        size: 12,
      }),
      reasonField(fields),
    ],
  })}`
}
