import type { Pool } from 'pg'
import { z } from 'zod'
import { listServices } from '../../../core/catalog/listings.ts'
import { serviceCard } from '../cards.ts'
import { html } from '../html.ts'
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
          shown.length === 0
            ? html`<div class="box"><p>Nothing is on sale here yet.</p></div>`
            : html`<ul class="list">${shown.map((each) => serviceCard(each))}</ul>`
        }${
          last !== undefined &&
          html`<nav class="pager" aria-label="Pages"><a class="button plain" rel="next"
href="/services?${next.toString()}">More</a></nav>`
        }`,
      }
    },
  })
