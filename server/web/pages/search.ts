import { z } from 'zod'
import { listedCategories } from '../../../core/catalog/search/categories.ts'
import { readHits } from '../../../core/catalog/search/hits.ts'
import { search } from '../../../core/catalog/search/search.ts'
import { usd } from '../../../core/money.ts'
import type { SearchPorts } from '../../rest/catalog/search.ts'
import { readPosition, writePosition } from '../../rest/catalog/search-position.ts'
import { sparing } from '../../sparing.ts'
import { hitCard } from '../cards.ts'
import { optionsOf } from '../form.ts'
import { type Html, html } from '../html.ts'
import type { PageText } from '../layout.ts'
import { empty } from '../notices.ts'
import { type AnyPage, page } from '../page.ts'
import { pager } from '../table.ts'

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
  max_price: field(20),
  cursor: z.string().max(500).optional(),
})
type Query = z.infer<typeof Query>

/** `/search`: services and listings in one ranking; every hit says why. */
export const searchPage = ({ pool, clock, meaning }: SearchPorts): AnyPage => {
  const categories = sparing(() => listedCategories(pool))
  return page({
    path: '/search',
    query: Query,
    show: async ({ query }) => {
      if (!DOLLARS.test(query.max_price)) return refused(query, await categories())
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
      const [found, known] = await Promise.all([readHits(pool, hits), categories()])
      return {
        title: query.q === '' ? 'Search' : `${query.q}: search`,
        section: 'Search',
        main: html`<h1>Search</h1>${form(query, known)}${
          found.length === 0
            ? nothing(query)
            : html`<ul class="list">${found.map(hitCard)}</ul>${pager(
                '/search',
                query,
                writePosition(next),
              )}`
        }`,
      }
    },
  })
}

const DOLLARS = /^(?:\d{1,6}(?:\.\d{1,6})?)?$/

/** The form as it was filled in, with what is wrong. */
const refused = (query: Query, known: readonly string[]): PageText => ({
  title: 'Search',
  section: 'Search',
  status: 422,
  main: html`<h1>Search</h1>${form(query, known, 'Dollars, such as 0.01.')}`,
})

const form = (
  { q, type, category, max_price: price }: Query,
  categories: readonly string[],
  wrong?: string,
): Html =>
  html`<form action="/search" role="search"><div class="find">
<input type="search" name="q" value="${q}" aria-label="What the API should do"
placeholder="translate text, energy tenders, weather …">
<button type="submit">Search</button></div><div class="fields">
<div><label for="type">Sold by</label>
<select id="type" name="type">${optionsOf(SELLERS, type)}</select></div>
<div><label for="category">Category</label>
<select id="category" name="category">${optionsOf(
    namesOf(categories, category),
    category,
  )}</select></div>
<div><label for="max_price">At most, in dollars a call</label>
<input id="max_price" name="max_price" value="${price}" inputmode="decimal" size="8"
placeholder="0.01"${
    wrong !== undefined && html` aria-invalid="true" aria-describedby="price-error" autofocus`
  }>${wrong !== undefined && html`<p class="error" id="price-error">${wrong}</p>`}</div></div>
</form>`

const SELLERS = { '': 'anybody', native: 'this hub', external: 'others, by x402' }

/** What can be chosen: what there is, and what somebody has put into the address. */
const namesOf = (known: readonly string[], chosen: string) => ({
  '': 'any',
  ...Object.fromEntries([...known, chosen].filter(Boolean).map((name) => [name, name])),
})

const nothing = ({ q }: Query): Html =>
  empty(
    q === '' ? 'Nothing is listed with these filters.' : `Nothing was found for “${q}”.`,
    html`<p>Use fewer or other words, or a higher price; or
<a href="/services">see all services</a>.</p>`,
  )
