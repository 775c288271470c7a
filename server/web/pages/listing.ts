import type { Pool } from 'pg'
import { z } from 'zod'
import { type Caution, cautionsOf } from '../../../core/catalog/cautions.ts'
import {
  type Change,
  type DaySeen,
  type External,
  type ExternalHistory,
  endpointsOf,
  findExternal,
  historyOf,
} from '../../../core/catalog/external-listings.ts'
import { REASONS } from '../../../core/catalog/reasons.ts'
import { type Clock, dayName, daysBefore } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import { priceTag } from '../../../core/money.ts'
import { type ChartDay, charts } from '../chart.ts'
import { counted, instant, milliseconds, percent } from '../format.ts'
import { type Html, html } from '../html.ts'
import { type AnyPage, page } from '../page.ts'

const DAYS = 30

/** `/listings/{id}`: what somebody else sells by x402, as the hub's own probes know it. */
export const listingPage = ({
  pool,
  clock,
}: {
  readonly pool: Pool
  readonly clock: Clock
}): AnyPage =>
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
      return {
        title: listing.name,
        section: 'Search',
        description: listing.description,
        main: html`<h1>${listing.name} <span class="badge">external</span></h1>
<p class="lead">${listing.description}</p>${stateOf(listing)}${cautionsOf(
          listing,
          history,
          now,
        ).map(caution)}${figures(listing)}${charts(
          daysOf(history.days, now),
          'probes',
          'By our own probes, which never pay.',
        )}${pay(listing)}${others(endpoints)}${changes(history)}${probes(history)}`,
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
  html`<dl class="figures"><div><dt>Price of a call</dt><dd>${priceTag(listing.price)}</dd></div>
<div><dt>Uptime</dt><dd>${
    listing.uptime === null ? 'not probed yet' : percent(listing.uptime)
  }</dd></div><div><dt>Latency, median</dt><dd>${
    listing.latencyP50 === null ? 'not probed yet' : milliseconds(listing.latencyP50)
  }</dd></div><div><dt>Paid through this hub, 30 days</dt><dd>${
    listing.calls === 0 ? 'nothing yet' : `${listing.delivered} of ${listing.calls} delivered`
  }</dd></div></dl><p class="facts"><span>Sold by <strong>${listing.provider}</strong>, not by this
hub</span><span>Seen working: ${
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

function pay({ url, method, payable }: External): Html {
  const verb = method === 'GET' ? '' : `-X ${method} `
  return html`<h2>Call it</h2><p><code>${method} ${url}</code></p>${
    payable
      ? html`<p>Credits of a key pay the seller, to the microdollar:</p>
<pre tabindex="0"><code>npx agenthub call ${verb}'${url}'</code></pre>`
      : html`<div class="box fair"><p>It asks for a payment that this hub cannot make: another
network or another asset. A wallet of your own can pay it.</p></div>`
  }`
}

function others(endpoints: readonly External[]): Html | undefined {
  if (endpoints.length < 2) return undefined
  return html`<h2>On the same host</h2><div class="wide"><table><thead><tr><th>Endpoint<th>What it
does<th class="number">Price</tr></thead><tbody>${endpoints
    .slice(1)
    .map(
      (each) =>
        html`<tr><td><a href="/listings/${each.id}"><code>${each.method} ${
          new URL(each.url).pathname
        }</code></a><td>${each.description}<td class="number">${priceTag(each.price)}</tr>`,
    )}</tbody></table></div>`
}

function changes({ changes: all }: ExternalHistory): Html | undefined {
  if (all.length === 0) return undefined
  return html`<h2>What changed</h2><div class="wide"><table><thead><tr><th>When<th>What<th>Before
<th>After<th>Known from</tr></thead><tbody>${all
    .slice(0, 20)
    .map(
      (each) =>
        html`<tr><td>${instant(each.at)}<td>${each.field}<td>${shown(each, each.before)}<td>${shown(
          each,
          each.after,
        )}<td>${each.verified ? 'a probe' : 'a claim'}</tr>`,
    )}</tbody></table></div>`
}

const shown = ({ field }: Change, value: string | null): string =>
  value === null ? '–' : field === 'price' ? priceTag(BigInt(value)) : value

function probes({ probes: all }: ExternalHistory): Html | undefined {
  if (all.length === 0) return undefined
  const shownProbes = all.slice(0, 20)
  return html`<h2>Probes</h2><div class="wide"><table><caption>The last ${counted(
    shownProbes.length,
    'probe',
  )}</caption><thead><tr><th>When<th>Outcome<th>Status<th class="number">Latency
<th class="number">Price</tr></thead><tbody>${shownProbes.map(
    (probe) =>
      html`<tr><td>${instant(probe.at)}<td class="${
        probe.outcome === 'up' ? 'good' : 'bad'
      }">${probe.outcome}<td>${probe.status ?? '–'}<td class="number">${
        probe.latencyMs === null ? '–' : milliseconds(probe.latencyMs)
      }<td class="number">${probe.price === null ? '–' : priceTag(probe.price)}</tr>`,
  )}</tbody></table></div>`
}
