import type { Pool } from 'pg'
import { z } from 'zod'
import { type Listing, listServices } from '../../../core/catalog/listings.ts'
import { type ServiceDay, serviceDays } from '../../../core/catalog/service-days.ts'
import { uptimeChart } from '../chart.ts'
import { counted, milliseconds, percent } from '../format.ts'
import { type Html, html } from '../html.ts'
import { type AnyPage, page } from '../page.ts'

const SERVICES = 20

/** `/status`: how the services of the hub have done, by their own traffic. */
export const statusPage = ({ pool }: { readonly pool: Pool }): AnyPage =>
  page({
    path: '/status',
    query: z.object({}),
    show: async () => {
      const services = await listServices(pool, { limit: SERVICES, after: undefined })
      const days = await Promise.all(services.map(({ slug }) => serviceDays(pool, slug)))
      return {
        title: 'Status',
        section: 'Status',
        main: html`<h1>Status</h1><p class="lead">How the services of this hub have done in 30 days,
by the calls that were made.</p>${
          services.length === 0
            ? html`<div class="box"><p>Nothing is on sale here yet.</p></div>`
            : services.map((service, i) => row(service, days[i] ?? []))
        }`,
      }
    },
  })

function row(service: Listing, days: readonly ServiceDay[]): Html {
  const { uptimePercentage: uptime, averageLatencyMs: latency } = service
  const calls = days.reduce((sum, day) => sum + day.calls, 0)
  const said = uptime === null ? 'no calls yet' : `${percent(uptime)} up`
  return html`<section><h2><a href="/services/${service.slug}">${service.name}</a></h2>
<p class="facts"><span><strong>${said}</strong></span><span>${counted(calls, 'call')}</span>${
    latency !== null && html`<span>${milliseconds(latency)} on average</span>`
  }</p>${calls > 0 && uptimeChart(days, `Uptime of ${service.name} by day: ${said}`)}</section>`
}
