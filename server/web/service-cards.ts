import type { AssessedListing } from '../../core/catalog/listings/cautions.ts'
import { providerLabel } from '../../core/catalog/review/provider-names.ts'
import type { Hit } from '../../core/catalog/search/hits.ts'
import { NEW_DAYS } from '../../core/catalog/search/rank.ts'
import type { PublishedService } from '../../core/catalog/services/published-services.ts'
import { daysBefore, systemClock } from '../../core/clock.ts'
import {
  formatCount,
  formatDollars,
  formatDuration,
  formatPercent,
  pluralize,
  priceRange,
} from './format.ts'
import { type Html, html } from './html.ts'
import { uptimeGrade } from './service-charts.ts'

/** Badges of a service or listing: new, or failing. */
function badges(listedAt: Date | null, uptime: number | null): Html {
  const isNew = listedAt !== null && listedAt > daysBefore(systemClock.now(), NEW_DAYS)
  const isFailing = uptimeGrade(uptime) === 'down'
  return html`${isFailing && html` <span class="badge bad">Failing</span>`}${
    isNew && html` <span class="badge good">New</span>`
  }`
}

/** Card of a hosted service. @param why reason for a search hit */
export const serviceCard = (service: PublishedService, why?: Html): Html =>
  html`<li class="card"><h2><a href="/services/${service.slug}">${service.name}</a>${badges(
    service.listedAt,
    service.uptimePercentage,
  )}</h2>
<p>${service.summary}</p><p class="facts"><span><strong>${priceRange(
    service.minPrice,
    service.maxPrice,
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
  )}</p>${why}</li>`

/** Card of an external x402 listing. */
const listingCard = (listing: AssessedListing, why?: Html): Html =>
  html`<li class="card"><h2><a href="/listings/${listing.id}">${listing.name}</a>
<span class="badge">external</span>${badges(listing.listedAt, listing.uptime)}${
    listing.state !== 'active' && html` <span class="badge fair">${listing.state}</span>`
  }</h2><p>${listing.description}</p><p class="facts"><span><strong>${formatDollars(
    listing.price,
  )}</strong> per call</span><span>${listing.provider}</span>
<span>${listing.category}</span>${healthFacts(
    listing.uptime,
    listing.paidMs ?? listing.latencyP50,
  )}${listing.payers > 0 && html`<span>${pluralize(listing.payers, 'payer')}</span>`}</p>${
    listing.cautions.length > 0 &&
    html`<p class="small"><strong>Caution:</strong> ${listing.cautions
      .map(({ message }) => message)
      .join(' ')}</p>`
  }${why}</li>`

export const searchHitCard = (hit: Hit): Html => {
  const why =
    hit.why.length === 0 ? undefined : html`<p class="small muted">Why: ${hit.why.join('; ')}</p>`
  return 'service' in hit ? serviceCard(hit.service, why) : listingCard(hit.external, why)
}

const healthFacts = (uptime: number | null, latency: number | null): Html =>
  html`${uptime !== null && html`<span>${formatPercent(uptime)} up</span>`}${
    latency !== null && html`<span>median latency ${formatDuration(latency)}</span>`
  }`
