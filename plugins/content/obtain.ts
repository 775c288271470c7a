import {
  type Call,
  type Domains,
  type Micros,
  type PageRefusal,
  type PricedPage,
  Refusal,
  type SellingDomain,
} from 'agenthub/plugin'
import type { CachedPage, PageCache } from './cache.ts'
import { licenseUrl } from './license.ts'
import { isDoubtful, type PageDeps, type PageReading, readPage } from './page.ts'
import { type PageVersion, tagOf } from './versions.ts'

export interface GatewayDeps extends PageDeps {
  readonly domains: Pick<Domains, 'note' | 'mayRead' | 'allowFreeUse' | 'reportLowConfidence'>
  readonly cache: Pick<PageCache, 'find' | 'read' | 'store' | 'doubtfulShare'>
}

/** Share of doubtful pages from which on their owner is notified. */
const DOUBTFUL_SHARE = 0.2

/** Terms of a page, determined when the price is quoted. */
export interface PageTerms {
  readonly page: PricedPage
  readonly price: Micros
  /** The cached page that the caller will get. */
  readonly cached: CachedPage | undefined
  /** True if the caller wants a fresher page than the one that the owner lets the cache sell. */
  readonly isRefresh: boolean
}

/** A page as it is delivered. */
export interface ObtainedPage extends PageReading, PageVersion {
  readonly cache: { readonly hit: boolean; readonly age_seconds: number }
  /** False if the owner lets no copy of the page be sold, or it is too large for one. */
  readonly isCached: boolean
}

/** @throws Refusal for a URL that is not for sale, before any money moves */
export async function pricePage(
  { cache }: Pick<GatewayDeps, 'cache'>,
  domain: SellingDomain,
  url: string,
  maxAge: number | undefined,
): Promise<PageTerms> {
  const page = domain.page(url)
  if (typeof page === 'string') {
    const { host } = domain
    throw new Refusal(page, REFUSALS[page].replace('{host}', host), { host })
  }
  const latest = await cache.find(domain.id, page)
  const isFresh = latest !== undefined && (maxAge === undefined || latest.ageSeconds < maxAge)
  return {
    page,
    price: isFresh ? page.rule.cachedPrice : page.rule.price,
    cached: isFresh ? latest : undefined,
    isRefresh: latest !== undefined && !isFresh,
  }
}

const REFUSALS: Readonly<Record<PageRefusal, string>> = {
  malformed_url:
    'url must be the full URL of a page, with https:// or http://, without a user name, and with ' +
    'escapes and dots that all servers read alike.',
  domain_not_registered: 'This service sells pages of {host} only, which the URL is not.',
  page_not_for_sale: 'The owner has set no price for this page.',
  page_denied: 'The owner does not sell this page.',
}

interface PageOrder extends Pick<Call<unknown>, 'payer' | 'signal'> {
  /** True if the owner sells the page at a price. */
  readonly paid: boolean
  /** True if this caller gets it, or a part of it, for nothing. */
  readonly isFree: boolean
}

/**
 * Reads a page from the cache or the site.
 * @throws as `readPage`; Refusal `page_reserved` for a free page whose owner wants no use by AI, or
 *   is paid for it
 */
export async function obtainPage(
  deps: GatewayDeps,
  domain: SellingDomain,
  { page, cached }: PageTerms,
  { payer: payerId, signal, paid, isFree }: PageOrder,
): Promise<ObtainedPage> {
  if (isFree && !(await deps.domains.allowFreeUse(page.url, licenseUrl(domain)))) {
    throw new Refusal(
      'page_reserved',
      'The license of the site (RSL) gives no page to AI for free.',
    )
  }
  const before = cached && (await deps.cache.read(domain.id, cached.key))
  if (before) {
    assertUsable(before, isFree)
    const cache = { hit: true, age_seconds: cached.ageSeconds }
    return { ...before, etag: cached.etag, changedAt: cached.changedAt, cache, isCached: true }
  }
  const payer = payerId === 'nobody' ? undefined : payerId
  const read = await readPage(deps, { domain, page, signal, payer, paid })
  const stored = await deps.cache.store(domain.id, page, read)
  assertUsable(read, isFree)
  if (isDoubtful(read) && (await deps.cache.doubtfulShare(domain.id)) >= DOUBTFUL_SHARE) {
    const { confidence } = read.article
    const doubt = { domain: domain.id, url: page.url, confidence: confidence ?? 0 }
    await deps.domains.reportLowConfidence(doubt)
  }
  return {
    ...read,
    ...(stored ?? { etag: tagOf(read.article), changedAt: deps.host.clock.now() }),
    cache: { hit: false, age_seconds: 0 },
    isCached: stored !== undefined,
  }
}

/** The directives `noai` and `noimageai` are no refusal of a page that its owner sells. */
function assertUsable({ directives = [] }: Partial<PageReading>, isFree: boolean): void {
  if (!isFree || !directives.includes('noai')) return
  throw new Refusal('page_reserved', 'The page asks AI agents not to use it (noai).', {
    directives,
  })
}

/** The page as callers get it. */
export const toResult = ({ article, way, etag, changedAt, cache }: ObtainedPage) => ({
  ...article,
  read_by: way,
  etag,
  changed_at: changedAt.toISOString(),
  cache,
})
