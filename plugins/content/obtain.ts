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
import { isDoubtful, type PageDeps, type PageReading, readPage } from './page.ts'
import { type PageVersion, tagOf } from './versions.ts'

export interface GatewayDeps extends PageDeps {
  readonly domains: Pick<Domains, 'note' | 'mayRead' | 'reportLowConfidence'>
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
  if (typeof page === 'string') throw new Refusal(page, REFUSALS[page], { host: domain.host })
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
  malformed_url: 'url: no address of a page that all servers read alike.',
  domain_not_registered: 'The address is not of the host that this service sells.',
  page_not_for_sale: 'The owner has set no price for this page.',
  page_denied: 'The owner does not sell this page.',
}

/** Reads a page from the cache or the site. @throws as `readPage` */
export async function obtainPage(
  deps: GatewayDeps,
  domain: SellingDomain,
  { page, cached }: PageTerms,
  { payer: payerId, signal, paid }: Pick<Call<unknown>, 'payer' | 'signal'> & { paid: boolean },
): Promise<ObtainedPage> {
  const before = cached && (await deps.cache.read(domain.id, cached.key))
  if (before) {
    const cache = { hit: true, age_seconds: cached.ageSeconds }
    return { ...before, etag: cached.etag, changedAt: cached.changedAt, cache, isCached: true }
  }
  const payer = payerId === 'nobody' ? undefined : payerId
  const read = await readPage(deps, { domain, page, signal, payer, paid })
  const stored = await deps.cache.store(domain.id, page, read)
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

/** The page as callers get it. */
export const toResult = ({ article, way, etag, changedAt, cache }: ObtainedPage) => ({
  ...article,
  read_by: way,
  etag,
  changed_at: changedAt.toISOString(),
  cache,
})
