import { type Context, clientWithKey } from '../context.ts'
import { dollars, stripControls, table } from '../terminal.ts'
import { parseDollars } from './arguments.ts'
import { moreHint, type PageFlags, parseLimit } from './list-page.ts'

export interface SearchFlags extends PageFlags {
  readonly category?: string
  readonly maxPrice?: string
  readonly external?: boolean
  readonly native?: boolean
}

interface Hit {
  readonly slug?: string
  readonly id?: string
  readonly url?: string
  readonly name: string
  readonly summary?: string
  readonly description?: string
  readonly category: string | null
  readonly price_microdollars: { readonly min: number; readonly max: number } | number | null
  readonly why: string | readonly string[]
  readonly cautions?: readonly { readonly code: string; readonly message: string }[]
}

/** Searches services, best match first. */
export async function search(context: Context, words: readonly string[], flags: SearchFlags) {
  const { terminal } = context
  const type = flags.external ? 'external' : flags.native ? 'native' : undefined
  const order = {
    query: words.join(' '),
    ...(flags.category && { category: flags.category }),
    ...(flags.maxPrice && { max_price_microdollars: Number(parseDollars(flags.maxPrice)) }),
    ...(type && { type }),
    limit: parseLimit(flags.limit),
    ...(flags.cursor && { cursor: flags.cursor }),
  }
  const { body } = await terminal.withSpinner(
    'Searching',
    (await clientWithKey(context)).search(order),
  )
  const page = body as unknown as {
    readonly data: readonly Hit[]
    readonly next_cursor: string | null
    readonly low_confidence?: boolean
  }
  const { data, next_cursor: next } = page
  const doubt = page.low_confidence ? '\n\nPerhaps none of these fits: try other words.' : ''
  await terminal.result(body, () =>
    data.length === 0 ? formatNoHits(words) : `${formatHits(data, next)}${doubt}`,
  )
}

const formatNoHits = (words: readonly string[]): string =>
  words.length > 0
    ? `Nothing found for "${words.join(' ')}". Try other words, or remove a filter.`
    : 'Nothing found. Remove or change a filter.'

function formatHits(data: readonly Hit[], next: string | null): string {
  const rows = data.map((hit) => [
    hit.slug ?? hit.url ?? hit.id ?? '',
    formatPrice(hit.price_microdollars),
    hit.category ?? '',
    truncate(hit.summary ?? hit.description ?? hit.name),
  ])
  const cautions = data.flatMap(({ url, cautions: all = [] }) =>
    all.map(({ message }) => `\nCaution, ${stripControls(url ?? '')}: ${stripControls(message)}`),
  )
  const text = table(['service', 'price', 'category', 'what it does'], rows)
  return `${text}${cautions.length > 0 ? '\n' : ''}${cautions.join('')}${moreHint(next)}`
}

const WIDTH = 70
const truncate = (text: string): string => {
  const line = stripControls(text).replaceAll(/\s+/g, ' ')
  return line.length > WIDTH ? `${line.slice(0, WIDTH - 1)}…` : line
}

function formatPrice(price: Hit['price_microdollars']): string {
  if (price === null) return '?'
  if (typeof price === 'number') return dollars(BigInt(price))
  const [min, max] = [BigInt(price.min), BigInt(price.max)]
  return min === max ? dollars(min) : `${dollars(min)}–${dollars(max)}`
}
