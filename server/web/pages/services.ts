import type { Pool } from 'pg'
import { z } from 'zod'
import { listServices } from '../../../core/catalog/services/published-services.ts'
import { serviceCard } from '../cards.ts'
import { type Html, html } from '../html.ts'
import { empty } from '../notices.ts'
import { type AnyPage, page } from '../page.ts'

const PAGE = 50

/** `/services`: everything that the hub itself sells. */
export const servicesPage = ({ pool }: { readonly pool: Pool }): AnyPage =>
  page({
    path: '/services',
    query: z.object({
      category: z.string().max(40).optional(),
      after: z.string().max(40).optional(),
    }),
    show: async ({ query: { category, after } }) => {
      const rows = await listServices(pool, { limit: PAGE + 1, after, category })
      const shown = rows.slice(0, PAGE)
      const last = rows.length > PAGE ? shown.at(-1)?.slug : undefined
      const next = new URLSearchParams({ ...(category && { category }), after: last ?? '' })
      return {
        title: 'Services',
        section: 'Services',
        description: 'APIs that this hub runs, sold by the request.',
        main: html`<h1>Services</h1><p class="lead">APIs that run here, sold by the request. What
others sell by x402 is in the <a href="/search?type=external">search</a>.</p>${
          category !== undefined &&
          html`<p class="choices"><span>Category <strong>${category}</strong></span>
<a href="/services">All categories</a></p>`
        }${
          shown.length === 0
            ? none(category)
            : html`<ul class="list">${shown.map((each) => serviceCard(each))}</ul>`
        }${
          last !== undefined &&
          html`<nav class="pager" aria-label="Pages"><a class="button plain" rel="next"
href="/services?${next.toString()}">More</a></nav>`
        }`,
      }
    },
  })

const none = (category: string | undefined): Html =>
  empty(
    category === undefined
      ? 'Nothing is on sale here yet.'
      : `Nothing of the category “${category}” is on sale here.`,
    html`<p><a href="/search">Search among the APIs of others, too</a></p>`,
  )
