import type { Pool } from 'pg'
import { z } from 'zod'
import { SEARCHED_CALLS } from '../../../../core/usage/call-list.ts'
import { findSoldServices } from '../../../../core/usage/provider-statistics.ts'
import {
  FILE_CALLS_MAX,
  FILE_SEARCHED_MAX,
  SERVICE_CALL_OUTCOMES,
} from '../../../../core/usage/service-calls.ts'
import type { ListPage } from '../../../rest/paging.ts'
import type { ServiceCallJson } from '../../../rest/provider/calls.ts'
import { filterBar, periodFilters, selectFilter } from '../../form.ts'
import { optionalDay } from '../../form-schemas.ts'
import { alignedColumn, formatCount, formatDuration } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { SELLING_TABS } from '../../navigation.ts'
import { type AnyPage, type PageRequest, page, requireSession } from '../../page.ts'
import { type Column, cardTable, pager, timeAgo, withQuery } from '../../table.ts'
import { apiFilter } from './api-filter.ts'
import { outcomeOf } from './statistics.ts'

const PATH = '/provider/calls'
const PAGE_SIZE = '50'

const OUTCOMES = {
  '': 'All',
  delivered: 'Delivered',
  failed: 'Failed, not charged',
  unresolved: 'Pending',
} as const

const Query = z.object({
  service: z.string().trim().max(40).default(''),
  outcome: z.enum(['', ...SERVICE_CALL_OUTCOMES]).default(''),
  from: optionalDay,
  to: optionalDay,
  cursor: z.string().max(500).optional(),
})
type Query = z.infer<typeof Query>

/** `/provider/calls`: every call of an API or domain, delivered or not, with its price. */
export const callsPage = ({ pool }: { readonly pool: Pool }): AnyPage =>
  page(PATH, {
    query: Query,
    render: async (request) => {
      const { services } = await findSoldServices(
        pool,
        requireSession(request).principals,
        undefined,
      )
      const service = request.query.service || services[0]
      const query = { ...request.query, service: service ?? '' }
      return {
        title: 'Calls',
        tabs: SELLING_TABS,
        main: html`<h1>Calls</h1><p class="lead">Every call of an API that you sell, newest first.
Callers have pseudonyms; what they sent is not stored.</p>${
          service === undefined
            ? emptyState(
                'Nothing listed yet.',
                html`<p><a class="button" href="/provider/services">List an API</a></p>`,
              )
            : html`${filters(services, query)}${await callList(request, query)}`
        }`,
      }
    },
  })

const filters = (services: readonly string[], query: Query): Html =>
  filterBar(PATH, [
    apiFilter(services, query.service),
    selectFilter('outcome', 'Outcome', OUTCOMES, query.outcome),
    periodFilters(query.from, query.to),
  ])

async function callList({ api }: PageRequest, query: Query): Promise<Html> {
  const found = await api<ListPage<ServiceCallJson>>('GET /v1/provider/calls', {
    query: { ...query, limit: PAGE_SIZE },
  })
  const isSearched = found.data.length === 0 && found.has_more
  return html`${
    found.data.length > 0
      ? serviceCallTable('Calls', found.data)
      : isSearched
        ? emptyState(
            `None of these ${formatCount(SEARCHED_CALLS)} calls match the filters.`,
            html`<p>The next page goes on with older calls.</p>`,
          )
        : emptyState(
            query.outcome || query.from || query.to
              ? 'No calls match these filters.'
              : 'No calls yet.',
          )
  }${pager(PATH, query, found.next_cursor)}${
    (found.data.length > 0 || found.has_more) && csvLink(query)
  }`
}

const csvLink = ({ service, outcome, from, to }: Query): Html => {
  const path = withQuery('/v1/provider/calls.csv', { service, outcome, from, to })
  return html`<p><a class="button plain" href="${path}">Download CSV</a> <span
class="small muted">The newest ${formatCount(FILE_CALLS_MAX)} calls of these filters${
    outcome !== '' && `, among the newest ${formatCount(FILE_SEARCHED_MAX)}`
  }.</span></p>`
}

/** Table of calls, with reasons of failures, and prices if any was charged. */
export function serviceCallTable(label: string, calls: readonly ServiceCallJson[]): Html {
  const price: Column<ServiceCallJson> = {
    head: 'Paid',
    number: true,
    cell: alignedColumn(calls, (each) => each.charged_microdollars),
  }
  return cardTable(
    label,
    [
      { head: 'Time', noWrap: true, cell: ({ at }) => timeAgo(at) },
      { head: 'Endpoint', cell: ({ endpoint }) => html`<code>${endpoint ?? 'deleted'}</code>` },
      { head: 'Outcome', cell: outcomeCell },
      { head: 'Caller', cell: ({ customer }) => html`<code>${customer}</code>` },
      { head: 'Latency', number: true, cell: ({ latency_ms: ms }) => formatDuration(ms) },
      ...(calls.some((each) => each.charged_microdollars > 0) ? [price] : []),
    ],
    calls,
  )
}

const BADGES: Readonly<Record<string, string>> = { delivered: 'good', failed: 'fair' }

function outcomeCell({ outcome, status, reason }: ServiceCallJson): Html {
  const text = OUTCOMES[outcome as keyof typeof OUTCOMES] ?? outcome
  return html`<span class="badge ${BADGES[outcome] ?? ''}">${text}</span>
<span class="small muted">${status}${reason !== null && html` ${outcomeOf(reason)}`}</span>`
}
