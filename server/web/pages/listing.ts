import { z } from 'zod'
import { type Caution, cautionsOf } from '../../../core/catalog/listings/cautions.ts'
import {
  type Change,
  type DaySeen,
  type External,
  type ExternalHistory,
  endpointsOf,
  findExternal,
  historyOf,
} from '../../../core/catalog/listings/find-listings.ts'
import { REASONS } from '../../../core/catalog/listings/reasons.ts'
import { type Clock, dayName, daysBefore } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import { dollars } from '../../../core/money.ts'
import { COPY_SCRIPT } from '../assets.ts'
import { type ChartDay, charts } from '../chart.ts'
import { externalSnippets } from '../external-snippets.ts'
import { inDollars, instant, milliseconds, percent } from '../format.ts'
import { type Html, html } from '../html.ts'
import { type AnyPage, page } from '../page.ts'
import { fieldList } from '../schema.ts'
import type { Doors } from '../snippets.ts'
import { cardTable } from '../table.ts'
import type { ServicePorts } from './service.ts'

const DAYS = 30
/** Of the newest changes and probes, each. */
const ROWS = 20

export interface ListingPorts extends ServicePorts {
  readonly clock: Clock
}

/** `/listings/{id}`: what somebody else sells by x402, as the hub's own probes know it. */
export const listingPage = ({ pool, clock, baseUrl, proxyUrl, mcpUrl }: ListingPorts): AnyPage =>
  page({
    path: '/listings/{id}',
    query: z.object({}),
    show: async ({ params }) => {
      const listing = await findExternal(pool, params['id'] ?? '')
      if (!listing) throw new Fault('listing_not_found')
      const [endpoints, history] = await Promise.all([
        endpointsOf(pool, listing),
        historyOf(pool, listing.id),
      ])
      const now = clock.now()
      const doors = { baseUrl: baseUrl(), proxyUrl: proxyUrl(), mcpUrl: mcpUrl() }
      return {
        title: listing.name,
        section: 'Search',
        description: listing.description,
        scripts: [COPY_SCRIPT],
        main: html`<h1>${listing.name} <span class="badge">external</span></h1>
<p class="lead">${listing.description}</p>${soldBy(listing)}${stateOf(listing)}${cautionsOf(
          listing,
          history,
          now,
        ).map(caution)}${figures(listing)}${charts(
          daysOf(history.days, now),
          'probes',
          'By our own probes, which never pay.',
        )}${pay(listing, doors)}${others(endpoints)}${changes(history)}${probes(history)}`,
      }
    },
  })

const stateOf = ({ state, reason }: External): Html | undefined => {
  if (state === 'active') return undefined
  const why = reason === null ? '' : REASONS[reason]
  return html`<div class="box ${state === 'degraded' ? 'fair' : 'bad'}">
<p><strong>${state}.</strong> ${why}</p></div>`
}

const caution = ({ message }: Caution): Html =>
  html`<div class="box fair"><p><strong>Caution:</strong> ${message}</p></div>`

const figures = (listing: External): Html =>
  html`<dl class="figures"><div><dt>Price of a call</dt><dd>${inDollars(listing.price)}</dd></div>
<div><dt>Uptime</dt><dd>${
    listing.uptime === null ? 'not probed yet' : percent(listing.uptime)
  }</dd></div><div><dt>Latency, median</dt><dd>${
    listing.latencyP50 === null ? 'not probed yet' : milliseconds(listing.latencyP50)
  }</dd></div><div><dt>Paid through this hub, 30 days</dt><dd>${
    listing.calls === 0 ? 'nothing yet' : `${listing.delivered} of ${listing.calls} delivered`
  }</dd></div></dl>`

const soldBy = (listing: External): Html =>
  html`<p class="facts"><span>Sold by <strong>${listing.provider}</strong>, not by this
hub</span><span>Category ${listing.category}</span><span>Seen working ${
    listing.lastVerifiedAt ? instant(listing.lastVerifiedAt) : 'never'
  }</span><span>Network <code>${listing.network}</code></span><span>Paid to <code>${
    listing.payTo
  }</code></span></p>`

/** One for each of the last days, with or without probes. */
function daysOf(seen: readonly DaySeen[], now: Date): ChartDay[] {
  const known = new Map(seen.map((day) => [day.day, day]))
  return Array.from({ length: DAYS }, (_, i) => {
    const day = dayName(daysBefore(now, DAYS - 1 - i))
    const found = known.get(day)
    const uptime = found ? Math.round((10_000 * found.up) / found.probes) / 100 : null
    return { day, uptime, latency: found?.p50 ?? null }
  })
}

function pay({ url, method, payable, inputSchema, price }: External, doors: Doors): Html {
  const input = fieldList(inputSchema)
  return html`<h2>Call it</h2><p><code>${method} ${url}</code></p>${
    payable
      ? html`<p>Credits of a key pay the seller, to the microdollar. With the key in
<code>HUB_API_KEY</code>:</p>${externalSnippets(
          { url, method, inputSchema, price: dollars(price) },
          doors,
        )}`
      : html`<div class="box fair"><p>It asks for a payment that this hub cannot make: another
network or another asset. A wallet of your own can pay it.</p></div>`
  }${input && html`<h3>What its seller says it takes</h3>${input}`}`
}

function others(endpoints: readonly External[]): Html | undefined {
  if (endpoints.length < 2) return undefined
  return html`<h2>On the same host</h2>${cardTable(
    'On the same host',
    [
      {
        head: 'Endpoint',
        cell: (each) =>
          html`<a href="/listings/${each.id}"><code>${each.method} ${
            new URL(each.url).pathname
          }</code></a>`,
      },
      { head: 'What it does', cell: ({ description }) => description },
      { head: 'Price of a call', number: true, cell: ({ price }) => inDollars(price) },
    ],
    endpoints.slice(1),
  )}`
}

function changes({ changes: all }: ExternalHistory): Html | undefined {
  if (all.length === 0) return undefined
  return html`<h2>What changed</h2>${cardTable(
    'What changed',
    [
      { head: 'When', whole: true, cell: ({ at }) => instant(at) },
      { head: 'What', cell: ({ field }) => field },
      { head: 'Before', cell: (each) => shown(each, each.before) },
      { head: 'After', cell: (each) => shown(each, each.after) },
      { head: 'Known from', cell: ({ verified }) => (verified ? 'a probe' : 'a claim') },
    ],
    all.slice(0, ROWS),
  )}`
}

const shown = ({ field }: Change, value: string | null): string =>
  value === null ? '–' : field === 'price' ? inDollars(BigInt(value)) : value

function probes({ probes: all }: ExternalHistory): Html | undefined {
  if (all.length === 0) return undefined
  return html`<h2>Probes</h2>${cardTable(
    'Probes',
    [
      { head: 'When', whole: true, cell: ({ at }) => instant(at) },
      {
        head: 'Outcome',
        cell: ({ outcome }) =>
          html`<span class="${outcome === 'up' ? 'good' : 'bad'}">${outcome}</span>`,
      },
      { head: 'Status', cell: ({ status }) => status ?? '–' },
      {
        head: 'Latency',
        number: true,
        cell: ({ latencyMs }) => (latencyMs === null ? '–' : milliseconds(latencyMs)),
      },
      {
        head: 'Price',
        number: true,
        cell: ({ price }) => (price === null ? '–' : inDollars(price)),
      },
    ],
    all.slice(0, ROWS),
  )}`
}
