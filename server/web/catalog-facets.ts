import { type Facets, PRICE_STEPS, UPTIME_STEPS } from '../../core/catalog/search/facets.ts'
import { dollars } from '../../core/money.ts'
import { formatCount, formatDollars } from './format.ts'
import { type Html, html } from './html.ts'
import { withQuery } from './table.ts'

/** Query parameters of the catalog as text; empty ones do not count. */
export type CatalogParameters = Readonly<
  Record<'q' | 'type' | 'category' | 'max_price' | 'min_uptime' | 'sort', string>
>

const PATH = '/services'

interface Choice {
  readonly value: string
  readonly text: string
  readonly count: number
}

/**
 * Filters of a search with the number of hits of each. Links, so that they work at once. They are
 * collapsed on narrow screens, and always shown beside the hits on wide ones.
 */
export const facetList = (facets: Facets, query: CatalogParameters): Html =>
  html`<nav class="facets" aria-label="Filters"><details><summary>Filters${chosenCount(
    query,
  )}</summary>${[
    facet(
      'Sold by',
      'type',
      TYPES.map(([value, text]) => {
        return { value, text, count: facets.type.get(value) ?? 0 }
      }),
      query,
    ),
    facet('Category', 'category', categories(facets, query.category), query),
    facet(
      'Price per call',
      'max_price',
      PRICE_STEPS.map((step, i) => {
        return {
          value: dollars(step),
          text: `up to ${formatDollars(step)}`,
          count: facets.price[i] ?? 0,
        }
      }),
      query,
    ),
    facet(
      'Uptime',
      'min_uptime',
      UPTIME_STEPS.map((step, i) => {
        return { value: String(step), text: `${step} % or more`, count: facets.uptime[i] ?? 0 }
      }),
      query,
    ),
  ]}</details></nav>`

const FILTERS = ['type', 'category', 'max_price', 'min_uptime'] as const

const chosenCount = (query: CatalogParameters): string => {
  const chosen = FILTERS.filter((name) => query[name] !== '')
  return chosen.length > 0 ? ` (${chosen.length} chosen)` : ''
}

const TYPES = [
  ['native', 'This hub'],
  ['external', 'External sellers (x402)'],
] as const

/** Categories with hits, and the chosen one even without any. */
function categories({ category }: Facets, chosen: string): readonly Choice[] {
  const counts = [...category]
  if (chosen !== '' && !category.has(chosen)) counts.push([chosen, 0])
  return counts.map(([value, count]) => ({ value, text: value, count }))
}

const facet = (
  title: string,
  name: keyof CatalogParameters,
  choices: readonly Choice[],
  query: CatalogParameters,
): Html | false => {
  const shown = choices.filter(({ value, count }) => count > 0 || query[name] === value)
  return (
    shown.length > 0 &&
    html`<h2>${title}</h2><ul>${shown.map(({ value, text, count }) => {
      const isChosen = query[name] === value
      const target = withQuery(PATH, { ...query, [name]: isChosen ? '' : value })
      return html`<li><a href="${target}"${isChosen && CHOSEN}>${text}${
        isChosen && html`<span class="remove"> (remove)</span>`
      }</a> <span class="muted">${formatCount(count)}</span></li>`
    })}</ul>`
  )
}

const CHOSEN = html` aria-current="true"`
