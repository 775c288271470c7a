import { z } from 'zod'
import { usd } from '../../../core/money.ts'
import type { SearchDeps } from '../../rest/catalog/search.ts'
import { facetList } from '../catalog-facets.ts'
import { type FoundHits, HITS_MAX, openCatalogHits, PAGE_SIZE } from '../catalog-hits.ts'
import { viewSwitch } from '../form.ts'
import { formatCount, pluralize } from '../format.ts'
import { type Html, html } from '../html.ts'
import type { PageContent } from '../layout.ts'
import { emptyState } from '../messages.ts'
import { type AnyPage, page } from '../page.ts'
import { compareForm, searchHitCard } from '../service-cards.ts'
import { pager, withQuery } from '../table.ts'

/** Text of a filter; browsers send empty fields as ''. */
const textField = (max: number) =>
  z
    .string()
    .max(max)
    .transform((text) => text.trim())
    .default('')

const SORTS = {
  relevance: 'Relevance',
  price: 'Price',
  latency: 'p95 latency',
  uptime: 'Uptime',
  calls: 'Calls',
} as const

const Query = z.object({
  q: textField(500),
  type: z.enum(['', 'native', 'external']).default(''),
  category: textField(40),
  max_price: textField(20),
  min_uptime: z.enum(['', '95', '99']).default(''),
  sort: z.enum(['relevance', 'price', 'latency', 'uptime', 'calls']).default('relevance'),
  cursor: z.string().max(500).optional(),
})
type Query = z.infer<typeof Query>

const PATH = '/services'

/** `/services`: services and listings in one list, with filters, counts and reasons of the hits. */
export const catalogPage = (deps: SearchDeps): AnyPage => {
  const findHits = openCatalogHits(deps)
  return page(PATH, {
    access: 'public',
    query: Query,
    render: async ({ query }) => {
      if (!DOLLARS.test(query.max_price)) return invalidPrice(query)
      const found = await findHits({
        words: query.q,
        type: query.type || undefined,
        category: query.category || undefined,
        maxPrice: query.max_price === '' ? undefined : usd(query.max_price),
        minUptime: query.min_uptime === '' ? undefined : Number(query.min_uptime),
        order: query.sort,
        cursor: query.cursor,
      })
      return {
        title: query.q === '' ? 'Services' : `${query.q}: services`,
        section: 'Services',
        description: 'APIs of this hub and of external sellers, paid per request.',
        main: html`${heading}${form(query)}<div class="catalog">${facetList(
          found.facets,
          parametersOf(query),
        )}<div>${found.count === 0 ? noHits(query) : hitList(query, found)}</div></div>`,
      }
    },
  })
}

/** `/search`: the former address of the catalog. */
export const formerSearchPage = page('/search', {
  access: 'public',
  query: z.record(z.string(), z.string().max(500)),
  render: async ({ query }) => ({ to: withQuery(PATH, query) }),
})

const heading = html`<h1>Services</h1><p class="lead">APIs of this hub and of external sellers, paid
per request.</p>`

/** Parameters of links to the first page. */
const parametersOf = (query: Query) => ({
  q: query.q,
  type: query.type,
  category: query.category,
  max_price: query.max_price,
  min_uptime: query.min_uptime,
  sort: query.sort === 'relevance' ? '' : query.sort,
})

const hitList = (query: Query, found: FoundHits): Html => {
  const { hits, facts, days, page: number, next, count, isCut, lowConfidence } = found
  const last = Math.ceil(count / PAGE_SIZE)
  const parameters = parametersOf(query)
  return html`<p class="muted small">${
    isCut ? `${pluralize(count, 'result')} among the best ${HITS_MAX}` : pluralize(count, 'result')
  }</p><div class="labeled-switch"><span aria-hidden="true">Sort by</span>${viewSwitch(
    'Sort by',
    SORTS,
    query.sort,
    (sort) => withQuery(PATH, { ...parameters, sort: sort === 'relevance' ? '' : sort }),
  )}</div>${lowConfidence && html`<p>Perhaps none of these fits: try other words.</p>`}
<ul class="list">${hits.map((hit) => searchHitCard(hit, facts, days))}</ul>${compareForm}${
    last > 1 && html`<p class="small muted">Page ${formatCount(number)} of ${formatCount(last)}</p>`
  }${pager(PATH, { ...parameters, cursor: query.cursor }, next)}`
}

const DOLLARS = /^(?:\d{1,6}(?:\.\d{1,6})?)?$/

/** Form with an error at the price. */
const invalidPrice = (query: Query): PageContent => ({
  title: 'Services',
  section: 'Services',
  status: 422,
  main: html`${heading}${form(query, 'Enter dollars, such as 0.01.')}`,
})

/** Form for words and a price; preserves the other filters, which are links. */
const form = (query: Query, error?: string): Html =>
  html`<form action="${PATH}" role="search"><div class="search-box">
<input type="search" name="q" value="${query.q}" aria-label="What the API should do"
placeholder="translate text, energy tenders, weather …">
<button type="submit">Search</button></div><div class="filters">
<div><label for="max_price">Max. price per call (USD)</label>
<input id="max_price" name="max_price" value="${query.max_price}" inputmode="decimal" size="8"
placeholder="0.01"${
    error !== undefined && html` aria-invalid="true" aria-describedby="price-error" autofocus`
  }>${error !== undefined && html`<p class="error" id="price-error">${error}</p>`}</div></div>${(
    ['type', 'category', 'min_uptime', 'sort'] as const
  ).map((name) => {
    const value = parametersOf(query)[name]
    return value !== '' && html`<input type="hidden" name="${name}" value="${value}">`
  })}
</form>`

const noHits = ({ q }: Query): Html =>
  emptyState(
    q === '' ? 'No results for these filters.' : `No results for “${q}”.`,
    html`<p>Try fewer or different words, or <a href="${withQuery(PATH, { q })}">remove the
filters</a>, or <a href="/services">browse all services</a>.</p>`,
  )
