import type { ExternalHit, Hit } from '../../core/catalog/search/hits.ts'
import type { Listing } from '../../core/catalog/services/published-services.ts'
import { count, counted, inDollars, milliseconds, percent, priceRange } from './format.ts'
import { type Html, html } from './html.ts'

/** What a list shows of a service of the hub. */
export const serviceCard = (service: Listing, why?: Html): Html =>
  html`<li class="card"><h2><a href="/services/${service.slug}">${service.name}</a></h2>
<p>${service.summary}</p><p class="facts"><span><strong>${priceRange(
    service.minPrice,
    service.maxPrice,
  )}</strong> a call</span>${
    service.freeCallsPerMonth > 0 &&
    html`<span>${count(service.freeCallsPerMonth)} free a month</span>`
  }<span>${counted(service.endpointCount, 'endpoint')}</span>
<span>${service.category}</span>${measured(
    service.uptimePercentage,
    service.averageLatencyMs,
  )}</p>${why}</li>`

/** … and of what somebody else sells. */
const externalCard = (listing: ExternalHit, why?: Html): Html =>
  html`<li class="card"><h2><a href="/listings/${listing.id}">${listing.name}</a>
<span class="badge">external</span>${
    listing.state !== 'active' && html` <span class="badge fair">${listing.state}</span>`
  }</h2><p>${listing.summary}</p><p class="facts"><span><strong>${inDollars(
    listing.price,
  )}</strong> a call</span><span>${listing.provider}</span>
<span>${listing.category}</span>${measured(
    listing.uptimePercentage,
    listing.latencyMs,
  )}</p>${why}</li>`

export const hitCard = (hit: Hit): Html => {
  const why = html`<p class="small muted">Why: ${hit.why.join('; ')}</p>`
  return 'service' in hit ? serviceCard(hit.service, why) : externalCard(hit.external, why)
}

const measured = (uptime: number | null, latency: number | null): Html =>
  html`${uptime !== null && html`<span>${percent(uptime)} up</span>`}${
    latency !== null && html`<span>answers in ${milliseconds(latency)}</span>`
  }`
