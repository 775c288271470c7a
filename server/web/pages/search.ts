import { z } from 'zod'
import { listedCategories } from '../../../core/catalog/search/categories.ts'
import { readHits } from '../../../core/catalog/search/hits.ts'
import { search } from '../../../core/catalog/search/search.ts'
import { usd } from '../../../core/money.ts'
import { cachedFor } from '../../../core/runtime/cache.ts'
import type { SearchDeps } from '../../rest/catalog/search.ts'
import { readSearchCursor, writeSearchCursor } from '../../rest/catalog/search-cursor.ts'
import { selectOptions } from '../form.ts'
import { type Html, html } from '../html.ts'
import type { PageContent } from '../layout.ts'
import { emptyState } from '../messages.ts'
import { type AnyPage, page } from '../page.ts'
import { searchHitCard } from '../service-cards.ts'
import { pager } from '../table.ts'

const PAGE_SIZE = 20
const CACHE_MS = 30_000

/** Text of a filter; browsers send empty fields as ''. */
const textField = (max: number) =>
  z
    .string()
    .max(max)
    .transform((text) => text.trim())
    .default('')

const Query = z.object({
  q: textField(500),
  type: z.enum(['', 'native', 'external']).default(''),
  category: textField(40),
  max_price: textField(20),
  cursor: z.string().max(500).optional(),
})
type Query = z.infer<typeof Query>

/** `/search`: services and listings in one ranking, each with the reason for the hit. */
export const searchPage = ({ pool, clock, semanticRanker }: SearchDeps): AnyPage => {
  const categories = cachedFor(CACHE_MS, () => listedCategories(pool))
  return page('/search', {
    access: 'public',
    query: Query,
    render: async ({ query }) => {
      if (!DOLLARS.test(query.max_price)) return invalidPrice(query, await categories())
      const input = {
        query: query.q,
        type: query.type === '' ? undefined : query.type,
        category: query.category || undefined,
        network: undefined,
        tag: undefined,
        maxPrice: query.max_price === '' ? undefined : usd(query.max_price),
        limit: PAGE_SIZE,
        after: readSearchCursor(query.cursor),
      }
      const { hits, next, lowConfidence } = await search(pool, clock, input, semanticRanker)
      const [cards, known] = await Promise.all([readHits(pool, hits, clock.now()), categories()])
      return {
        title: query.q === '' ? 'Search' : `${query.q}: search`,
        section: 'Search',
        main: html`<h1>Search</h1>${form(query, known)}${
          cards.length === 0
            ? noHits(query)
            : html`${lowConfidence && html`<p>Perhaps none of these fits: try other words.</p>`}
<ul class="list">${cards.map(searchHitCard)}</ul>${pager(
                '/search',
                query,
                writeSearchCursor(next),
              )}`
        }`,
      }
    },
  })
}

const DOLLARS = /^(?:\d{1,6}(?:\.\d{1,6})?)?$/

/** Form with an error at the price. */
const invalidPrice = (query: Query, known: readonly string[]): PageContent => ({
  title: 'Search',
  section: 'Search',
  status: 422,
  main: html`<h1>Search</h1>${form(query, known, 'Enter dollars, such as 0.01.')}`,
})

const form = (
  { q, type, category, max_price: price }: Query,
  categories: readonly string[],
  error?: string,
): Html =>
  html`<form action="/search" role="search"><div class="search-box">
<input type="search" name="q" value="${q}" aria-label="What the API should do"
placeholder="translate text, energy tenders, weather …">
<button type="submit">Search</button></div><div class="filters">
<div><label for="type">Sold by</label>
<select id="type" name="type">${selectOptions(TYPE_OPTIONS, type)}</select></div>
<div><label for="category">Category</label>
<select id="category" name="category">${selectOptions(
    categoryOptions(categories, category),
    category,
  )}</select></div>
<div><label for="max_price">Max. price per call (USD)</label>
<input id="max_price" name="max_price" value="${price}" inputmode="decimal" size="8"
placeholder="0.01"${
    error !== undefined && html` aria-invalid="true" aria-describedby="price-error" autofocus`
  }>${error !== undefined && html`<p class="error" id="price-error">${error}</p>`}</div></div>
</form>`

const TYPE_OPTIONS = { '': 'Anyone', native: 'This hub', external: 'External sellers (x402)' }

/** Known categories, and that of the query even if it is unknown. */
const categoryOptions = (known: readonly string[], chosen: string) => ({
  '': 'Any',
  ...Object.fromEntries([...known, chosen].filter(Boolean).map((name) => [name, name])),
})

const noHits = ({ q }: Query): Html =>
  emptyState(
    q === '' ? 'No results for these filters.' : `No results for “${q}”.`,
    html`<p>Try fewer or different words or a higher price, or
<a href="/services">browse all services</a>.</p>`,
  )
