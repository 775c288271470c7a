import type { Pool } from 'pg'
import { z } from 'zod'
import { listServices } from '../../../core/catalog/services/published-services.ts'
import { type Html, html } from '../html.ts'
import { emptyState } from '../messages.ts'
import { type AnyPage, page } from '../page.ts'
import { serviceCard } from '../service-cards.ts'
import { pager } from '../table.ts'

const PAGE_SIZE = 50

/** `/services`: all services hosted by the hub. */
export const servicesPage = ({ pool }: { readonly pool: Pool }): AnyPage =>
  page('/services', {
    access: 'public',
    query: z.object({
      category: z.string().max(40).optional(),
      after: z.string().max(40).optional(),
    }),
    render: async ({ query: { category, after } }) => {
      const rows = await listServices(pool, { limit: PAGE_SIZE + 1, after, category })
      const shown = rows.slice(0, PAGE_SIZE)
      const last = rows.length > PAGE_SIZE ? (shown.at(-1)?.slug ?? null) : null
      return {
        title: 'Services',
        section: 'Services',
        description: 'APIs hosted by this hub, paid per request.',
        main: html`<h1>Services</h1><p class="lead">APIs hosted by this hub, paid per request. To
find external APIs, use the <a href="/search?type=external">search</a>.</p>${
          category !== undefined &&
          html`<p class="view-switch"><span>Category <strong>${category}</strong></span>
<a href="/services">All categories</a></p>`
        }${
          shown.length === 0
            ? noServices(category)
            : html`<ul class="list">${shown.map((each) => serviceCard(each))}</ul>`
        }${pager('/services', { category, after }, last, 'after')}`,
      }
    },
  })

const noServices = (category: string | undefined): Html =>
  emptyState(
    category === undefined ? 'No services yet.' : `No services in the category “${category}”.`,
    html`<p><a href="/search">Search all APIs, including external ones</a></p>`,
  )
