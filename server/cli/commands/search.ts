import { usd } from '../../../core/money.ts'
import { type Context, keyed } from '../context.ts'
import { Failure } from '../failure.ts'
import { clean, dollars, table } from '../terminal.ts'

export interface SearchFlags {
  readonly category?: string
  readonly maxPrice?: string
  readonly external?: boolean
  readonly native?: boolean
  readonly limit?: string
  readonly cursor?: string
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
}

/** Services by what they do, best first. */
export async function search(context: Context, words: readonly string[], flags: SearchFlags) {
  const { terminal } = context
  const type = flags.external ? 'external' : flags.native ? 'native' : undefined
  const order = {
    query: words.join(' '),
    ...(flags.category && { category: flags.category }),
    ...(flags.maxPrice && { max_price_microdollars: Number(priceOf(flags.maxPrice)) }),
    ...(type && { type }),
    limit: limitOf(flags.limit),
    ...(flags.cursor && { cursor: flags.cursor }),
  }
  const { body } = await terminal.during('Searching', (await keyed(context)).search(order))
  const { data, next_cursor: next } = body as unknown as {
    readonly data: readonly Hit[]
    readonly next_cursor: string | null
  }
  await terminal.result(body, () => (data.length === 0 ? nothing(words) : text(data, next)))
}

const nothing = (words: readonly string[]): string =>
  words.length > 0
    ? `Nothing found for "${words.join(' ')}". Try fewer or other words, or no filter.`
    : 'Nothing found. Try no filter, or another one.'

function text(data: readonly Hit[], next: string | null): string {
  const rows = data.map((hit) => [
    hit.slug ?? hit.url ?? hit.id ?? '',
    priceText(hit.price_microdollars),
    hit.category ?? '',
    clip(hit.summary ?? hit.description ?? hit.name),
  ])
  const more = next === null || next === undefined ? '' : `\n\nMore: --cursor ${next}`
  return `${table(['service', 'price', 'category', 'what it does'], rows)}${more}`
}

const WIDTH = 70
const clip = (text: string): string => {
  const line = clean(text).replaceAll(/\s+/g, ' ')
  return line.length > WIDTH ? `${line.slice(0, WIDTH - 1)}…` : line
}

export function priceText(price: Hit['price_microdollars']): string {
  if (price === null) return '?'
  if (typeof price === 'number') return dollars(BigInt(price))
  const [min, max] = [BigInt(price.min), BigInt(price.max)]
  return min === max ? dollars(min) : `${dollars(min)}–${dollars(max)}`
}

export function priceOf(text: string): bigint {
  try {
    return usd(text.replace(/^\$/, ''))
  } catch (cause) {
    throw new Failure('usage', `Not a dollar amount: ${text}`, 'Such as 0.05', { cause })
  }
}

export function limitOf(text = '20'): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= 100) return limit
  throw new Failure('usage', `Not a number from 1 to 100: ${text}`)
}
