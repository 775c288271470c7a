import {
  type Call,
  type Infer,
  micros,
  type PricedPage,
  type Quote,
  Refusal,
  Reply,
  type SellingDomain,
} from 'agenthub/plugin'
import { licenseLink } from './license.ts'
import {
  type GatewayDeps,
  type ObtainedPage,
  obtainPage,
  type PageTerms,
  pricePage,
  toResult,
} from './obtain.ts'
import type { inputOf } from './schemas.ts'
import { type Condition, conditionOf, isUnchanged, type PageVersion } from './versions.ts'

type PageInput = Infer<ReturnType<typeof inputOf>>

interface FetchTerms extends PageTerms {
  /** True if the caller has the cached version already, which then costs nothing. */
  readonly isUnchanged: boolean
}

const FREE = micros(0n)

/** Prices one page. @throws Refusal for a URL that is not for sale, before any money moves */
export async function quotePage(
  deps: GatewayDeps,
  domain: SellingDomain,
  input: PageInput,
): Promise<Quote<FetchTerms>> {
  const priced = await pricePage(deps, domain, input.url, input.max_age)
  if (input.preview && priced.page.rule.previewCharacters === 0) {
    throw new Refusal('no_preview', 'The owner gives no preview of this page.')
  }
  const condition = conditionOf(input)
  const isConfirmed =
    !input.preview &&
    condition !== undefined &&
    priced.cached !== undefined &&
    isUnchanged(priced.cached, condition)
  const amount = input.preview || isConfirmed ? FREE : priced.price
  return { amount, terms: { ...priced, isUnchanged: isConfirmed } }
}

/** Delivers one page, its preview, or the confirmation that the caller has it already. */
export async function deliverPage(
  deps: GatewayDeps,
  domain: SellingDomain,
  call: Call<PageInput>,
): Promise<Reply> {
  const { input, headers } = call
  const terms = call.terms as FetchTerms
  const { page, cached } = terms
  if (terms.isUnchanged && cached) {
    const cache = { hit: true, age_seconds: cached.ageSeconds }
    return new Reply(confirmation(page, { ...cached, cache }, conditionOf(input)))
  }
  const paid = !input.preview && page.rule.price > FREE
  const isFree = input.preview === true || terms.price === FREE
  const obtained = await obtainPage(deps, domain, terms, { ...call, paid, isFree })
  if (input.preview) return new Reply(buildPreview(obtained, page))
  const condition = conditionOf(input, headers)
  if (condition && isConfirmable(obtained, terms, condition) && isUnchanged(obtained, condition)) {
    call.charge(FREE)
    if (!condition.isHttp) return new Reply(confirmation(page, obtained, condition))
    const { ETag, ...date } = validators(obtained)
    return new Reply(null, { status: 304, headers: condition.isDate ? date : { ETag, ...date } })
  }
  const sold = { url: page.url, cached: obtained.cache.hit, charged: terms.price }
  await deps.domains.note({ call: call.id, domain: domain.id, pages: [sold] })
  const about = { ...validators(obtained), Link: licenseLink(domain) }
  return new Reply(toResult(obtained), { headers: about })
}

/**
 * Returns true if an unchanged page need not be bought again: once for each time that the owner
 * lets the cache sell it. Callers pay to have it read sooner. Nothing is read for a date, since
 * callers without a tag may never have bought the page.
 */
const isConfirmable = (
  { isCached }: ObtainedPage,
  { isRefresh, cached }: Pick<PageTerms, 'isRefresh' | 'cached'>,
  { isDate }: Condition,
): boolean => isCached && !isRefresh && (cached !== undefined || !isDate)

const confirmation = (
  { url }: PricedPage,
  { etag, changedAt, cache }: PageVersion & Pick<ObtainedPage, 'cache'>,
  condition: Condition | undefined,
) => ({
  url,
  unchanged: true,
  ...(condition?.isDate ? {} : { etag }), // a tag shows that its page was bought
  changed_at: changedAt.toISOString(),
  cache,
})

const validators = ({ etag, changedAt }: PageVersion) => ({
  ETag: `"${etag}"`,
  'Last-Modified': changedAt.toUTCString(),
})

/** Builds the preview: the beginning of the text and nothing that reveals the rest. */
function buildPreview(obtained: ObtainedPage, { rule }: PricedPage) {
  const { etag: _, changed_at: __, ...result } = toResult(obtained)
  const whole = Array.from(result.text)
  const shown = whole.slice(0, rule.previewCharacters)
  return {
    ...result,
    text: shown.join(''),
    data: null,
    markdown: '',
    headings: [],
    links: [],
    images: [],
    preview: { characters: shown.length, of: whole.length },
  }
}
