import type { Pool } from 'pg'
import { z } from 'zod'
import {
  readServiceHealthToday,
  type ServiceHealthToday,
} from '../../../core/catalog/services/hub-figures.ts'
import { INCIDENT_DAYS, listIncidents } from '../../../core/catalog/services/incidents.ts'
import {
  listServices,
  type PublishedService,
} from '../../../core/catalog/services/published-services.ts'
import { listReportedIncidents } from '../../../core/catalog/services/reported-incidents.ts'
import { readUptimeDays, type UptimeDay } from '../../../core/catalog/services/service-days.ts'
import type { RecentReads } from '../../../core/db/recent-reads.ts'
import {
  type LastVerification,
  readLastVerification,
} from '../../../core/ledger/verify/last-verification.ts'
import {
  OutgoingSwitch,
  type SwitchState,
} from '../../../core/payments/operations/outgoing-switch.ts'
import { renderRecent } from '../data-age.ts'
import { formatDuration, formatPercent, formatTime, pluralize } from '../format.ts'
import { type Html, html } from '../html.ts'
import { incidentList, openIncidents } from '../incidents.ts'
import type { PageContent } from '../layout.ts'
import { emptyState } from '../messages.ts'
import { type AnyPage, page } from '../page.ts'
import { uptimeStrip } from '../service-charts.ts'
import { pager } from '../table.ts'

const PAGE_SIZE = 20

/** `/status`: uptime of the services and incidents, measured by their traffic. */
export const statusPage = ({ recentReads }: { readonly recentReads: RecentReads }): AnyPage =>
  page('/status', {
    access: 'public',
    query: z.object({ cursor: z.string().max(40).optional() }),
    render: (request) =>
      renderRecent(recentReads, request, (pool) => renderStatus(pool, request.query.cursor)),
  })

async function renderStatus(pool: Pool, cursor: string | undefined): Promise<PageContent> {
  const [rows, today, outgoing, verification, incidents, reported] = await Promise.all([
    listServices(pool, { limit: PAGE_SIZE + 1, after: cursor }),
    readServiceHealthToday(pool),
    new OutgoingSwitch(pool).state(),
    readLastVerification(pool),
    listIncidents(pool),
    listReportedIncidents(pool),
  ])
  const services = rows.slice(0, PAGE_SIZE)
  const next = rows.length > PAGE_SIZE ? (services.at(-1)?.slug ?? null) : null
  const days = await readUptimeDays(
    pool,
    services.map(({ slug }) => slug),
  )
  return {
    title: 'Status',
    section: 'Status',
    main: html`<h1>Status</h1>${[
      openIncidents(reported),
      summary(today),
      ledgerNotice(verification),
      pauseNotice(outgoing),
    ]}${
      services.length === 0
        ? emptyState('No services yet.')
        : html`<h2>Last 30 days</h2><p>Measured by calls: a call counts against a service
if the service failed, timed out or was unreachable. Full green bars: at least 99.5 %; yellow: at
least 95 %; low red bars: less; gray: no calls.</p><ul class="service-states">${services.map(
            (service) => serviceRow(service, days.get(service.slug) ?? []),
          )}</ul>${pager('/status', { cursor }, next)}`
    }${incidentList(incidents, reported, INCIDENT_DAYS)}`,
  }
}

function summary({ called, troubled }: ServiceHealthToday): Html {
  const [grade, words] =
    troubled > 0
      ? ['bad', `${pluralize(troubled, 'service')} of ${called} had problems today.`]
      : called > 0
        ? ['good', 'All services operational.']
        : ['', 'No calls yet today.']
  const rest =
    called > 0 &&
    troubled === 0 &&
    `${pluralize(called, 'service')} called today, each at
least 95 % up.`
  return html`<div class="box ${grade}"><p><strong>${words}</strong> ${rest}</p></div>`
}

const ledgerNotice = (last: LastVerification | undefined): Html | null | undefined =>
  last && last.failures.length > 0
    ? html`<div class="box bad"><p><strong>The verification of the ledger failed</strong> at
${formatTime(last.at)}. Payments to sellers and payouts are paused until it is resolved.</p></div>`
    : last?.fullAt &&
      html`<p class="small muted">All entries of the ledger were verified last at
${formatTime(last.fullAt)}; new ones are verified every minute.</p>`

const pauseNotice = (state: SwitchState | undefined): Html | undefined =>
  state?.paused === true
    ? html`<div class="box fair"><p><strong>Payments to external sellers are paused</strong> since
${formatTime(state.at)}. External APIs are unavailable; services of this hub work.</p>
</div>`
    : undefined

function serviceRow(service: PublishedService, days: readonly UptimeDay[]): Html {
  const { uptimePercentage: uptime, medianLatencyMs: latency } = service
  const calls = days.reduce((sum, day) => sum + day.calls, 0)
  const uptimeText = uptime === null ? 'no calls yet' : `${formatPercent(uptime)} up`
  return html`<li><h3><a href="/services/${service.slug}">${service.name}</a></h3>
<p class="facts"><span><strong>${uptimeText}</strong></span>${
    calls > 0 && html`<span>${pluralize(calls, 'call')}</span>`
  }${latency !== null && html`<span>median latency ${formatDuration(latency)}</span>`}</p>${
    calls > 0 &&
    html`${uptimeStrip(days, `Uptime of ${service.name} by day: ${uptimeText}`)}<p
class="date-range"><span>${days[0]?.day}</span><span>today</span></p>`
  }</li>`
}
