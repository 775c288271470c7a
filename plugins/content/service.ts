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
import type { CachedPage, PageCache } from './cache.ts'
import { type PageDeps, type PageReading, readPage } from './page.ts'
import { inputOf, output } from './schemas.ts'

export interface GatewayDeps extends PageDeps {
  readonly domains: Pick<Domains, 'note' | 'mayRead'>
  readonly cache: Pick<PageCache, 'find' | 'read' | 'store'>
}

type PageInput = Infer<ReturnType<typeof inputOf>>

/** Facts determined when the price was quoted. */
interface Terms {
  readonly page: PricedPage
  readonly cached: CachedPage | undefined
}

const DEADLINE_SECONDS = 45
const FREE = micros(0n)

/** Creates the service that sells the pages of a domain. */
export const gatewayOf = (ports: GatewayDeps, domain: SellingDomain): AnyService =>
  defineService({
    slug: domain.slug,
    name: domain.name,
    category: 'content',
    summary: domain.summary,
    provider: domain.provider,
    endpoints: {
      'GET /fetch': {
        summary: `A page of ${domain.host}: title, text, headings, Markdown and more.`,
        price: { max: domain.maxPrice, of: (asked: PageInput) => quote(ports, domain, asked) },
        input: inputOf(domain.example),
        output,
        deadlineSeconds: DEADLINE_SECONDS,
        handle: (call) => deliverPage(ports, domain, call),
      },
    },
  })

/** @throws Refusal for a URL that is not for sale, before any money moves */
async function quote(
  { cache }: GatewayDeps,
  domain: SellingDomain,
  asked: PageInput,
): Promise<Quote<Terms>> {
  const page = domain.page(asked.url)
  if (typeof page === 'string') throw toRefusal(page, domain)
  const { maxAgeSeconds, previewCharacters, price, cachedPrice } = page.rule
  const maxAge = Math.min(asked.max_age ?? maxAgeSeconds, maxAgeSeconds)
  const kept = await cache.find(domain.id, page, maxAge)
  if (asked.preview && previewCharacters === 0) {
    throw new Refusal('no_preview', 'The owner gives no preview of this page.')
  }
  const amount = asked.preview ? FREE : kept ? cachedPrice : price
  return { amount, terms: { page, cached: kept } }
}

const REFUSALS: Readonly<Record<PageRefusal, string>> = {
  malformed_url: 'url: no address of a page that all servers read alike.',
  domain_not_registered: 'The address is not of the host that this service sells.',
  page_not_for_sale: 'The owner has set no price for this page.',
  page_denied: 'The owner does not sell this page.',
}

const toRefusal = (why: PageRefusal, { host }: SellingDomain): Refusal =>
  new Refusal(why, REFUSALS[why], { host })

async function deliverPage(
  ports: GatewayDeps,
  domain: SellingDomain,
  { id, input: asked, payer: payerId, terms, signal }: Call<PageInput>,
) {
  const { page, cached: kept } = terms as Terms
  const before = kept && (await ports.cache.read(domain.id, kept.key))
  const payer = payerId === 'nobody' ? undefined : payerId
  const paid = !asked.preview && page.rule.price > FREE
  const read = before ?? (await readPage(ports, { domain, page, signal, payer, paid }))
  if (!before) await ports.cache.store(domain.id, page, read)
  const cache = { hit: before !== undefined, age_seconds: before ? kept.ageSeconds : 0 }
  if (asked.preview) return { ...buildPreview(read, page), cache }
  await ports.domains.note({ call: id, domain: domain.id, url: page.url, cached: cache.hit })
  return { ...buildResult(read), cache }
}

const buildResult = ({ article, way }: PageReading) => ({ ...article, read_by: way })

/** Builds the preview: the beginning of the text and nothing that reveals the rest. */
function buildPreview(read: PageReading, { rule }: PricedPage) {
  const whole = Array.from(read.article.text)
  const shown = whole.slice(0, rule.previewCharacters)
  return {
    ...buildResult(read),
    text: shown.join(''),
    data: null,
    markdown: '',
    headings: [],
    links: [],
    images: [],
    preview: { characters: shown.length, of: whole.length },
  }
}
