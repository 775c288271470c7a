import type { Incident } from '../../core/catalog/services/incidents.ts'
import { dayName } from '../../core/clock.ts'
import { formatPercent, formatTime, pluralize } from './format.ts'
import { type Html, html } from './html.ts'
import { emptyState } from './messages.ts'

export const INCIDENT_FEED = '/status/incidents.xml'

const titleOf = ({ name, endedAt }: Incident): string =>
  `${name === null ? 'Payments to external sellers paused' : `${name}: failed calls`}${
    endedAt === null ? ' (ongoing)' : ''
  }`

/** Describes what callers saw and what it cost them. */
const describe = ({ name, uptime, calls, failed }: Incident): string =>
  name === null
    ? 'External APIs could not be called. Services of this hub worked.'
    : `${pluralize(failed, 'call')} of ${calls} failed and cost nothing; ${formatPercent(
        uptime ?? 0,
      )} up on the worst day.`

/** `2026-11-21`, `2026-11-21 to 2026-11-23`, or with times for a pause. */
function periodOf({ name, startedAt, endedAt }: Incident): string {
  if (name === null) {
    const end = endedAt === null ? 'until now' : `to ${formatTime(endedAt)}`
    return `${formatTime(startedAt)} ${end}`
  }
  const first = dayName(startedAt)
  const last = endedAt === null ? 'today' : dayName(new Date(endedAt.getTime() - 1))
  return first === last ? first : `${first} to ${last}`
}

/** Incidents of the last days, newest first, with a link to their feed. */
export const incidentList = (incidents: readonly Incident[], days: number): Html =>
  html`<h2 id="incidents">Incidents</h2><p>Days on which a service was less than 95 % up, and pauses
of payments, of the last ${days} days. <a href="${INCIDENT_FEED}">Subscribe by RSS</a>.</p>${
    incidents.length === 0
      ? emptyState('No incidents.')
      : html`<ol class="incidents">${incidents.map(
          (each) =>
            html`<li id="${each.id}"><h3>${
              each.slug === null
                ? titleOf(each)
                : html`<a href="/services/${each.slug}">${titleOf(each)}</a>`
            }</h3><p class="facts"><span>${periodOf(each)}</span></p><p>${describe(each)}</p></li>`,
        )}</ol>`
  }`

/** Incidents as RSS 2.0. The end of an incident is an item of its own. */
export const incidentFeed = (incidents: readonly Incident[], baseUrl: string): string =>
  html`<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>AgentHub incidents</title><link>${baseUrl}/status</link>
<description>Failures of services and pauses of payments.</description>
<atom:link href="${baseUrl}${INCIDENT_FEED}" rel="self" type="application/rss+xml"/>${incidents.map(
    (each) => html`
<item><title>${titleOf(each)}</title><link>${baseUrl}/status#${each.id}</link>
<guid isPermaLink="false">${each.id}${each.endedAt !== null && '-ended'}</guid>
<pubDate>${(each.endedAt ?? each.startedAt).toUTCString()}</pubDate>
<description>${periodOf(each)}. ${describe(each)}</description></item>`,
  )}
</channel></rss>
`.text
