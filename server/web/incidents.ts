import type { Incident } from '../../core/catalog/services/incidents.ts'
import type {
  IncidentState,
  ReportedIncident,
} from '../../core/catalog/services/reported-incidents.ts'
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

const STATE_TEXTS: Readonly<Record<IncidentState, string>> = {
  investigating: 'Investigating',
  identified: 'Identified',
  monitoring: 'Monitoring',
  resolved: 'Resolved',
}

/** State of an incident, with its color. */
export const incidentBadge = (state: IncidentState): Html =>
  html`<span class="badge ${state === 'resolved' ? 'good' : 'bad'}">${STATE_TEXTS[state]}</span>`

/** Options of a field for the state. */
export const INCIDENT_STATE_OPTIONS = STATE_TEXTS

/** Reported incidents that are not resolved, for the top of a page. */
export const openIncidents = (reported: readonly ReportedIncident[]): readonly Html[] =>
  reported.flatMap(({ id, title, updates: [latest] }) =>
    latest && latest.state !== 'resolved'
      ? [
          html`<div class="box bad"><p><strong><a href="#${id}">${title}</a></strong>
${incidentBadge(latest.state)}</p><p>${latest.message}</p></div>`,
        ]
      : [],
  )

/** Incident that an administrator wrote, with its updates, newest first. */
const reportedItem = ({ id, title, service, updates }: ReportedIncident): Html =>
  html`<li id="${id}"><h3>${title} ${updates[0] && incidentBadge(updates[0].state)}</h3>${
    service !== null && html`<p class="facts"><a href="/services/${service}">${service}</a></p>`
  }${updateList(updates)}</li>`

/** Updates of an incident, in the given order. */
export const updateList = (
  updates: readonly {
    readonly at: Date | string
    readonly state: keyof typeof STATE_TEXTS
    readonly message: string
  }[],
): Html =>
  html`<ol class="plain-list">${updates.map(
    ({ at, state, message }) =>
      html`<li><strong>${STATE_TEXTS[state]}</strong> <span class="small muted">${formatTime(
        at,
      )}</span><br>${message}</li>`,
  )}</ol>`

const measuredItem = (each: Incident): Html =>
  html`<li id="${each.id}"><h3>${
    each.slug === null ? titleOf(each) : html`<a href="/services/${each.slug}">${titleOf(each)}</a>`
  }</h3><p class="facts"><span>${periodOf(each)}</span></p><p>${describe(each)}</p></li>`

/** Incidents of the last days, newest first, with a link to their feed. */
export function incidentList(
  measured: readonly Incident[],
  reported: readonly ReportedIncident[],
  days: number,
): Html {
  const items = [
    ...measured.map((each) => ({ startedAt: each.startedAt, item: measuredItem(each) })),
    ...reported.map((each) => ({ startedAt: each.startedAt, item: reportedItem(each) })),
  ].toSorted((a, b) => b.startedAt.getTime() - a.startedAt.getTime())
  return html`<h2 id="incidents">Incidents</h2><p>Incidents that we reported, days on which a
service was less than 95 % up, and pauses of payments, of the last ${days} days.
Subscribe by <a href="${INCIDENT_FEED}">RSS</a> or <a href="/account/notifications">email</a>.</p>${
    items.length === 0
      ? emptyState('No incidents.')
      : html`<ol class="incidents">${items.map(({ item }) => item)}</ol>`
  }`
}

interface FeedItem {
  readonly title: string
  readonly anchor: string
  readonly guid: string
  readonly at: Date
  readonly text: string
}

const measuredEntry = (each: Incident): FeedItem => ({
  title: titleOf(each),
  anchor: each.id,
  guid: `${each.id}${each.endedAt !== null ? '-ended' : ''}`,
  at: each.endedAt ?? each.startedAt,
  text: `${periodOf(each)}. ${describe(each)}`,
})

/** Incidents as RSS 2.0. The end and every update of an incident are items of their own. */
export function incidentFeed(
  measured: readonly Incident[],
  reported: readonly ReportedIncident[],
  baseUrl: string,
): string {
  const updates = reported.flatMap(({ id, title, updates: all }) =>
    all.map(({ seq, at, state, message }): FeedItem => {
      const heading = `${title}: ${STATE_TEXTS[state].toLowerCase()}`
      return { title: heading, anchor: id, guid: `${id}-${seq}`, at, text: message }
    }),
  )
  const items = [...measured.map(measuredEntry), ...updates].toSorted(
    (a, b) => b.at.getTime() - a.at.getTime(),
  )
  return html`<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>AgentHub incidents</title><link>${baseUrl}/status</link>
<description>Failures of services and pauses of payments.</description>
<atom:link href="${baseUrl}${INCIDENT_FEED}" rel="self" type="application/rss+xml"/>${items.map(
    ({ title, anchor, guid, at, text }) => html`
<item><title>${title}</title><link>${baseUrl}/status#${anchor}</link>
<guid isPermaLink="false">${guid}</guid>
<pubDate>${at.toUTCString()}</pubDate>
<description>${text}</description></item>`,
  )}
</channel></rss>
`.text
}
