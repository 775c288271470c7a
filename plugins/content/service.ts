import {
  type AnyService,
  type Call,
  type Domains,
  defineService,
  type Infer,
  micros,
  type PageRefusal,
  type PricedPage,
  type Quote,
  Refusal,
  type SellingDomain,
} from 'agenthub/plugin'
import type { Kept, PageCache } from './cache.ts'
import { type PagePorts, type Read, readPage } from './page.ts'
import { inputOf, output } from './schemas.ts'

export interface GatewayPorts extends PagePorts {
  readonly domains: Pick<Domains, 'note' | 'mayRead'>
  readonly cache: Pick<PageCache, 'peek' | 'read' | 'keep'>
}

type Asked = Infer<ReturnType<typeof inputOf>>

/** What was found out when the price was made. */
interface Terms {
  readonly page: PricedPage
  readonly kept: Kept | undefined
}

const DEADLINE_SECONDS = 45
const FREE = micros(0n)

/** The service that sells the pages of a domain. */
export const gatewayOf = (ports: GatewayPorts, domain: SellingDomain): AnyService =>
  defineService({
    slug: domain.slug,
    name: domain.name,
    category: 'content',
    summary: domain.summary,
    provider: domain.provider,
    endpoints: {
      'GET /fetch': {
        summary: `A page of ${domain.host}: title, text, headings, Markdown and more.`,
        price: { max: domain.maxPrice, of: (asked: Asked) => quote(ports, domain, asked) },
        input: inputOf(domain.example),
        output,
        deadlineSeconds: DEADLINE_SECONDS,
        handle: (call) => deliver(ports, domain, call),
      },
    },
  })

/**
 * What a page costs, by the rule that it falls under, and whether it is kept.
 * @throws Refusal for an address that is not sold here, before any money moves
 */
async function quote(
  { cache }: GatewayPorts,
  domain: SellingDomain,
  asked: Asked,
): Promise<Quote<Terms>> {
  const page = domain.page(asked.url)
  if (typeof page === 'string') throw refusalOf(page, domain)
  const { maxAgeSeconds, previewCharacters, price, cachedPrice } = page.rule
  const maxAge = Math.min(asked.max_age ?? maxAgeSeconds, maxAgeSeconds)
  const kept = await cache.peek(domain.id, page, maxAge)
  if (asked.preview && previewCharacters === 0) {
    throw new Refusal('no_preview', 'The owner gives no preview of this page.')
  }
  const amount = asked.preview ? FREE : kept ? cachedPrice : price
  return { amount, terms: { page, kept } }
}

const REFUSALS: Readonly<Record<PageRefusal, string>> = {
  malformed_url: 'url: no address of a page that all servers read alike.',
  domain_not_registered: 'The address is not of the host that this service sells.',
  page_not_for_sale: 'The owner has set no price for this page.',
  page_denied: 'The owner does not sell this page.',
}

const refusalOf = (why: PageRefusal, { host }: SellingDomain): Refusal =>
  new Refusal(why, REFUSALS[why], { host })

async function deliver(
  ports: GatewayPorts,
  domain: SellingDomain,
  { id, input: asked, terms, signal }: Call<Asked>,
) {
  const { page, kept } = terms as Terms
  const before = kept && (await ports.cache.read(domain.id, kept.key))
  const read = before ?? (await readPage(ports, { domain, page, signal }))
  if (!before) await ports.cache.keep(domain.id, page, read)
  const cache = { hit: before !== undefined, age_seconds: before ? kept.ageSeconds : 0 }
  if (asked.preview) return { ...previewOf(read, page), cache }
  await ports.domains.note({ call: id, domain: domain.id, url: page.url, cached: cache.hit })
  return { ...resultOf(read), cache }
}

const resultOf = ({ article, way }: Read) => ({ ...article, read_by: way })

/** The beginning of the text, and nothing else that would tell the rest. */
function previewOf(read: Read, { rule }: PricedPage) {
  const whole = Array.from(read.article.text)
  const shown = whole.slice(0, rule.previewCharacters)
  return {
    ...resultOf(read),
    text: shown.join(''),
    markdown: '',
    headings: [],
    links: [],
    images: [],
    preview: { characters: shown.length, of: whole.length },
  }
}
