import type { AssessedListing } from '../../core/catalog/listings/cautions.ts'
import { METERED } from '../../core/catalog/listings/discovery/offers.ts'
import { providerLabel } from '../../core/catalog/review/provider-names.ts'
import type { HitFacts } from '../../core/catalog/search/facets.ts'
import type { Hit } from '../../core/catalog/search/hits.ts'
import { NEW_DAYS } from '../../core/catalog/search/rank.ts'
import type { PublishedService } from '../../core/catalog/services/published-services.ts'
import type { UptimeDay } from '../../core/catalog/services/service-days.ts'
import { daysBefore, systemClock } from '../../core/clock.ts'
import {
  formatCount,
  formatDuration,
  formatPercent,
  pluralize,
  priceLimit,
  priceRange,
} from './format.ts'
import { type Html, html } from './html.ts'
import { uptimeGrade, uptimeStrip } from './service-charts.ts'

/** Badges of a service or listing: new, or failing. */
function badges(listedAt: Date | null, uptime: number | null): Html {
  const isNew = listedAt !== null && listedAt > daysBefore(systemClock.now(), NEW_DAYS)
  const isFailing = uptimeGrade(uptime) === 'down'
  return html`${isFailing && html` <span class="badge bad">Failing</span>`}${
    isNew && html` <span class="badge good">New</span>`
  }`
}

/** Parts of a card in the catalog. */
interface CatalogParts {
  /** Selects the service for a comparison. */
  readonly choice: Html
  readonly p95Ms: number | null
  /** Last days of a service. */
  readonly days: readonly UptimeDay[]
  /** Reasons for its rank. */
  readonly why: Html | false
}

/** Card of a hosted service. */
export const serviceCard = (service: PublishedService, parts?: CatalogParts): Html =>
  html`<li class="card">${parts?.choice}<h2><a
href="/services/${service.slug}">${service.name}</a>${badges(
    service.listedAt,
    service.uptimePercentage,
  )}</h2>
<p>${service.summary}</p><p class="facts"><span><strong>${priceRange(
    service,
  )}</strong> per call</span>${
    service.freeCallsPerMonth > 0 &&
    html`<span>${formatCount(service.freeCallsPerMonth)} free calls per month</span>`
  }<span>By ${providerLabel(service.provider, service.providerName)}</span><span>${pluralize(
    service.endpointCount,
    'endpoint',
  )}</span>
<span>${service.category}</span>${healthFacts(
    service.uptimePercentage,
    service.medianLatencyMs,
    parts?.p95Ms,
  )}</p>${parts?.days.some(({ calls }) => calls > 0) && strip(service.name, parts.days)}${
    parts?.why
  }</li>`

const strip = (name: string, days: readonly UptimeDay[]): Html =>
  uptimeStrip(days, `Uptime of ${name} by day, last ${days.length} days`)

/** Card of an external x402 listing. */
const listingCard = (listing: AssessedListing, { choice, p95Ms, why }: CatalogParts): Html =>
  html`<li class="card">${choice}<h2><a href="/listings/${listing.id}">${listing.name}</a>
<span class="badge">external</span>${badges(listing.listedAt, listing.uptime)}${
    listing.state !== 'active' && html` <span class="badge fair">${listing.state}</span>`
  }</h2><p>${listing.description}</p><p class="facts"><span><strong>${priceLimit(
    listing.price,
    listing.scheme === METERED,
  )}</strong> per call</span><span>${listing.provider}</span>
<span>${listing.category}</span>${healthFacts(
    listing.uptime,
    listing.paidMs ?? listing.latencyP50,
    p95Ms,
  )}${listing.payers > 0 && html`<span>${pluralize(listing.payers, 'payer')}</span>`}</p>${
    listing.cautions.length > 0 &&
    html`<p class="small"><strong>Caution:</strong> ${listing.cautions
      .map(({ message }) => message)
      .join(' ')}</p>`
  }${why}</li>`

/** Card of a hit. @param facts figures of hits by id @param days last days of services by slug */
export function searchHitCard(
  hit: Hit,
  facts: ReadonlyMap<string, HitFacts>,
  days: ReadonlyMap<string, readonly UptimeDay[]>,
): Html {
  const { id, name } = identify(hit)
  const parts = {
    choice: html`<label class="pick"><input type="checkbox" name="id" value="${id}" form="compare"
aria-label="Compare ${name}">Compare</label>`,
    p95Ms: facts.get(id)?.p95Ms ?? null,
    days: days.get(id) ?? [],
    why: hit.why.length > 0 && html`<p class="small muted">Why: ${hit.why.join('; ')}</p>`,
  }
  return 'service' in hit ? serviceCard(hit.service, parts) : listingCard(hit.external, parts)
}

/** Id, name and page of a hit. */
export const identify = (hit: Hit) =>
  'service' in hit
    ? { id: hit.service.slug, name: hit.service.name, path: `/services/${hit.service.slug}` }
    : { id: hit.external.id, name: hit.external.name, path: `/listings/${hit.external.id}` }

/** Form of the boxes on cards. */
export const compareForm = html`<form id="compare" action="/compare" class="compare"><button
type="submit" class="plain">Compare selected</button><span class="small muted">Select up to four.
</span></form>`

const healthFacts = (
  uptime: number | null,
  latency: number | null,
  p95Ms: number | null = null,
): Html =>
  html`${uptime !== null && html`<span>${formatPercent(uptime)} up</span>`}${
    latency !== null && html`<span>median latency ${formatDuration(latency)}</span>`
  }${p95Ms !== null && html`<span>p95 ${formatDuration(p95Ms)}</span>`}`
