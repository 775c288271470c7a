import type { Pool } from 'pg'
import { providerLabel } from '../../../core/catalog/review/provider-names.ts'
import { servicesOfProvider } from '../../../core/catalog/services/published-services.ts'
import type { RecentReads } from '../../../core/db/recent-reads.ts'
import { Fault } from '../../../core/errors.ts'
import { renderRecent } from '../data-age.ts'
import { pluralize } from '../format.ts'
import { html } from '../html.ts'
import type { PageContent } from '../layout.ts'
import { type AnyPage, page } from '../page.ts'
import { serviceCard } from '../service-cards.ts'

const SERVICES_MAX = 100

/** `/providers/{id}`: public profile of a provider with the services on sale. */
export const providerProfilePage = ({
  recentReads,
}: {
  readonly recentReads: RecentReads
}): AnyPage =>
  page('/providers/{id}', {
    access: 'public',
    render: (request) =>
      renderRecent(recentReads, request, (pool) => renderProfile(pool, request.params['id'] ?? '')),
  })

async function renderProfile(pool: Pool, id: string): Promise<PageContent> {
  const services = await servicesOfProvider(pool, id, SERVICES_MAX)
  const [first] = services
  if (!first) throw new Fault('not_found', 'No provider with this id sells a service.')
  const name = providerLabel(id, first.providerName)
  const count = pluralize(services.length, 'service')
  return {
    title: name,
    section: 'Services',
    description: `${name} sells ${count}, paid per request.`,
    main: html`<p class="breadcrumb"><a href="/services">Services</a></p><h1>${name}</h1>
<p class="lead">Sells ${count} on this hub.</p><p class="facts"><span>Provider id
<code>${id}</code></span></p><ul class="list">${services.map((each) => serviceCard(each))}</ul>`,
  }
}
