import { z } from 'zod'
import {
  countCatalog,
  countFacets,
  type Facets,
  HIT_ORDERS,
  type HitFacts,
  readFacts,
} from '../../../core/catalog/search/facets.ts'
import { type Hit, readHits } from '../../../core/catalog/search/hits.ts'
import { search } from '../../../core/catalog/search/search.ts'
import { readUptimeDays, type UptimeDay } from '../../../core/catalog/services/service-days.ts'
import { usd } from '../../../core/money.ts'
import { cachedFor } from '../../../core/runtime/cache.ts'
import type { SearchDeps } from '../../rest/catalog/search.ts'
import { facetList } from '../catalog-facets.ts'
import { viewSwitch } from '../form.ts'
import { pluralize } from '../format.ts'
import { type Html, html } from '../html.ts'
import type { PageContent } from '../layout.ts'
import { emptyState } from '../messages.ts'
import { type AnyPage, page } from '../page.ts'
import { compareForm, searchHitCard } from '../service-cards.ts'
import { withQuery } from '../table.ts'

const PAGE_SIZE = 20
/** Best hits of a search, which are filtered, sorted and paged through. */
const HITS_MAX = 100
const PAGES_MAX = HITS_MAX / PAGE_SIZE
const CACHE_MS = 60_000

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
  page: z
    .string()
    .max(20)
    .default('1')
    .transform((text) => Math.min(Math.max(1, Math.floor(Number(text)) || 1), PAGES_MAX)),
})
type Query = z.infer<typeof Query>

const PATH = '/services'

/** `/services`: services and listings in one list, with filters, counts and reasons of the hits. */
export const catalogPage = (deps: SearchDeps): AnyPage => {
  const catalogFacets = cachedFor(CACHE_MS, () => countCatalog(deps.pool))
  return page(PATH, {
    access: 'public',
    query: Query,
    render: async ({ query }) => {
      if (!DOLLARS.test(query.max_price)) return invalidPrice(query)
      const found = await findHits(deps, query)
      const facets = query.q === '' ? await catalogFacets() : found.facets
      return {
        title: query.q === '' ? 'Services' : `${query.q}: services`,
        section: 'Services',
        description: 'APIs of this hub and of external sellers, paid per request.',
        main: html`${heading}${form(query)}<div class="catalog">${facetList(
          facets,
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

interface FoundHits {
  /** Hits of the page. */
  readonly hits: readonly Hit[]
  /** Figures of these hits, by id. */
  readonly facts: ReadonlyMap<string, HitFacts>
  /** Last days of the services among them, by slug. */
  readonly days: ReadonlyMap<string, readonly UptimeDay[]>
  /** Number of the page: the last one if the query names a later one. */
  readonly page: number
  /** Number of hits on all pages. */
  readonly count: number
  /** True if only the best hits were filtered and sorted. */
  readonly isCut: boolean
  /** Counts without the filters. */
  readonly facets: Facets
  readonly lowConfidence: boolean
}

async function findHits(
  { pool, clock, semanticRanker }: SearchDeps,
  query: Query,
): Promise<FoundHits> {
  const filters = {
    type: query.type || undefined,
    category: query.category || undefined,
    maxPrice: query.max_price === '' ? undefined : usd(query.max_price),
  }
  const find = (filter: Partial<typeof filters>) => {
    const all = { type: undefined, category: undefined, maxPrice: undefined, ...filter }
    const request = { query: query.q, network: undefined, tag: undefined, limit: HITS_MAX, ...all }
    return search(pool, clock, request, semanticRanker)
  }
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  const found = await find(filters)
  const read = await readFacts(pool, found.hits)
  // One after the other: the second finds the vector of the query in the cache.
  const counted = isFiltered && query.q !== '' ? await readFacts(pool, (await find({})).hits) : read
  const minUptime = Number(query.min_uptime || 0)
  const kept = read.filter(({ facts }) => minUptime === 0 || (facts.uptime ?? 0) >= minUptime)
  const order = query.sort === 'relevance' ? undefined : HIT_ORDERS[query.sort]
  const sorted = order ? kept.toSorted((a, b) => order(a.facts, b.facts)) : kept
  const page = Math.max(1, Math.min(query.page, Math.ceil(sorted.length / PAGE_SIZE)))
  const start = (page - 1) * PAGE_SIZE
  const shown = sorted.slice(start, start + PAGE_SIZE)
  const ranked = shown.map(({ hit }) => hit)
  const native = ranked.filter(({ candidate }) => candidate.kind === 'native')
  const slugs = native.map(({ candidate }) => candidate.id)
  const [hits, days] = await Promise.all([
    readHits(pool, ranked, clock.now()),
    readUptimeDays(pool, slugs),
  ])
  return {
    page,
    hits,
    days,
    facts: new Map(shown.map(({ facts }) => [facts.id, facts])),
    count: sorted.length,
    isCut: found.hits.length === HITS_MAX,
    facets: countFacets(counted.map(({ facts }) => facts)),
    lowConfidence: found.lowConfidence,
  }
}

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
  const { hits, facts, days, page: number, count, isCut, lowConfidence } = found
  const parameters = parametersOf(query)
  return html`<p class="muted small">${
    isCut ? `${pluralize(count, 'result')} among the best ${HITS_MAX}` : pluralize(count, 'result')
  }</p>${viewSwitch('Sort by', SORTS, query.sort, (sort) =>
    withQuery(PATH, { ...parameters, sort: sort === 'relevance' ? '' : sort }),
  )}${lowConfidence && html`<p>Perhaps none of these fits: try other words.</p>`}
<ul class="list">${hits.map((hit) => searchHitCard(hit, facts, days))}</ul>${compareForm}${pages(
    query,
    number,
    count,
  )}`
}

/** Links to the pages before and after. */
const pages = (query: Query, number: number, count: number): Html | false => {
  const last = Math.ceil(count / PAGE_SIZE)
  const link = (to: number, text: string, rel: 'prev' | 'next') =>
    html`<a class="button plain" rel="${rel}" href="${withQuery(PATH, {
      ...parametersOf(query),
      page: to === 1 ? '' : String(to),
    })}">${text}</a>`
  return (
    last > 1 &&
    html`<nav class="pager" aria-label="Pages">${
      number > 1 && link(number - 1, 'Previous page', 'prev')
    }${number < last && link(number + 1, 'Next page', 'next')}</nav>`
  )
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
