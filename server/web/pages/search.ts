import { z } from 'zod'
import { readHits } from '../../../core/catalog/search/hits.ts'
import { search } from '../../../core/catalog/search/search.ts'
import { usd } from '../../../core/money.ts'
import type { SearchPorts } from '../../rest/search.ts'
import { readPosition, writePosition } from '../../rest/search-position.ts'
import { hitCard } from '../cards.ts'
import { type Html, html } from '../html.ts'
import { type AnyPage, page } from '../page.ts'

const PAGE = 20

/** A form sends what was left empty as an empty text. */
const field = (max: number) =>
  z
    .string()
    .max(max)
    .transform((text) => text.trim())
    .default('')

const Query = z.object({
  q: field(500),
  type: z.enum(['', 'native', 'external']).default(''),
  category: field(40),
  max_price: z
    .string()
    .regex(/^(?:\d{1,6}(?:\.\d{1,6})?)?$/, 'dollars, such as 0.01')
    .default(''),
  cursor: z.string().max(500).optional(),
})
type Query = z.infer<typeof Query>

/** `/search`: services and listings in one ranking; every hit says why. */
export const searchPage = ({ pool, clock, meaning }: SearchPorts): AnyPage =>
  page({
    path: '/search',
    query: Query,
    show: async ({ query }) => {
      const order = {
        query: query.q,
        type: query.type === '' ? undefined : query.type,
        category: query.category || undefined,
        network: undefined,
        tag: undefined,
        maxPrice: query.max_price === '' ? undefined : usd(query.max_price),
        limit: PAGE,
        after: readPosition(query.cursor),
      }
      const { hits, next } = await search(pool, clock, order, meaning)
      const found = await readHits(pool, hits)
      return {
        title: query.q === '' ? 'Search' : `${query.q}: search`,
        section: 'Search',
        main: html`<h1>Search</h1>${form(query)}${
          found.length === 0
            ? nothing(query)
            : html`<ul class="list">${found.map(hitCard)}</ul>${pager(query, writePosition(next))}`
        }`,
      }
    },
  })

const form = ({ q, type, category, max_price: price }: Query): Html =>
  html`<form action="/search" role="search"><div class="find">
<input type="search" name="q" value="${q}" aria-label="What the API should do"
placeholder="translate text, energy tenders, weather …">
<button type="submit">Search</button></div><div class="fields">
<div><label for="type">Sold by</label>
<select id="type" name="type">${choice(type, '', 'anybody')}${choice(
    type,
    'native',
    'this hub',
  )}${choice(type, 'external', 'others, by x402')}</select></div>
<div><label for="category">Category</label>
<input id="category" name="category" value="${category}" size="12"></div>
<div><label for="max_price">At most, in dollars</label>
<input id="max_price" name="max_price" value="${price}" inputmode="decimal" size="8"
placeholder="0.01"></div></div></form>`

const choice = (chosen: string, value: string, text: string): Html =>
  chosen === value
    ? html`<option value="${value}" selected>${text}</option>`
    : html`<option value="${value}">${text}</option>`

const nothing = ({ q }: Query): Html =>
  html`<div class="box"><p>${
    q === '' ? 'Nothing is listed with these filters.' : `Nothing was found for “${q}”.`
  }</p><p>Use fewer or other words, or a higher price; or <a href="/services">see all services</a>.
</p></div>`

function pager(query: Query, cursor: string | null): Html | undefined {
  if (cursor === null) return undefined
  const { q, type, category, max_price: price } = query
  const next = new URLSearchParams({ q, type, category, max_price: price, cursor })
  return html`<nav class="pager" aria-label="Pages">
<a class="button plain" rel="next" href="/search?${next.toString()}">More</a></nav>`
}
