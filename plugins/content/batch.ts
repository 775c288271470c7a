import {
  type Call,
  Failure,
  type Infer,
  type Micros,
  micros,
  type Quote,
  Refusal,
  RenderError,
  type SellingDomain,
} from 'agenthub/plugin'
import { type GatewayDeps, obtainPage, type PageTerms, pricePage, toResult } from './obtain.ts'
import type { batchInputOf } from './schemas.ts'

type BatchInput = Infer<ReturnType<typeof batchInputOf>>

interface PageError {
  readonly code: string
  readonly detail: string
  /** True if the site or the hub failed, not the request. */
  readonly isFailure: boolean
}

/** A URL of the request, with its terms or the reason why it cannot be bought. */
interface BatchEntry {
  readonly url: string
  readonly terms: PageTerms | PageError
}

type Delivered = ReturnType<typeof toResult>

interface BatchResult {
  readonly url: string
  readonly terms: PageTerms | undefined
  readonly page: Delivered | undefined
  readonly error: PageError | undefined
}

/** Time after which no page is read any more, so that those that were read are delivered. */
const READING_MS = 35_000
const CONCURRENT_READS = 4
/** Bytes of all pages: a response is stored for a repetition up to 1 MiB. */
const BYTES_MAX = 1_000_000
const FREE = micros(0n)

/** Prices all pages: the sum is held. Those that are not for sale cost nothing. */
export async function quoteBatch(
  deps: Pick<GatewayDeps, 'cache'>,
  domain: SellingDomain,
  { urls, max_age: maxAge }: BatchInput,
): Promise<Quote<readonly BatchEntry[]>> {
  const seen = new Set<string>()
  const entries: BatchEntry[] = []
  for (const url of urls) {
    const terms = await pricePage(deps, domain, url, maxAge).catch(toPageError)
    const isRepeated = 'page' in terms && seen.has(terms.page.url)
    if ('page' in terms) seen.add(terms.page.url)
    entries.push({ url, terms: isRepeated ? REPEATED : terms })
  }
  return { amount: sumOf(entries.map(({ terms }) => terms)), terms: entries }
}

const sumOf = (all: readonly (PageTerms | PageError | undefined)[]): Micros =>
  micros(all.reduce((sum, terms) => sum + (terms && 'price' in terms ? terms.price : 0n), 0n))

/**
 * Reads the pages and charges those that are delivered. A payment by x402 cannot be lowered, so it
 * buys all priced pages or none.
 * @throws Refusal, Failure if nothing is delivered, with the reason of each page
 */
export async function deliverBatch(
  deps: GatewayDeps,
  domain: SellingDomain,
  call: Call<BatchInput>,
) {
  const results = await readAll(deps, domain, call)
  const sold = results.filter(({ page }) => page !== undefined)
  const isPartial = results.some(({ terms, page }) => terms !== undefined && page === undefined)
  if (sold.length === 0 || (isPartial && call.payer.startsWith('x402:'))) throw undelivered(results)
  // A quote that is held may be lower than the prices of now.
  const charges = chargesOf(results, call.price ?? sumOf(results.map(({ terms }) => terms)))
  const charged = micros(charges.reduce((sum, each) => sum + each, 0n))
  call.charge(charged)
  const pages = results.flatMap(({ terms, page }, n) =>
    page && terms
      ? [{ url: terms.page.url, cached: page.cache.hit, charged: charges[n] ?? FREE }]
      : [],
  )
  await deps.domains.note({ call: call.id, domain: domain.id, pages })
  return {
    delivered: sold.length,
    charged_microdollars: Number(charged),
    pages: results.map(({ url, page = null, error }, n) => ({
      url,
      charged_microdollars: Number(charges[n]),
      page,
      error: error ? { code: error.code, detail: error.detail } : null,
    })),
  }
}

/** Charge of each page: its price, as long as the sum does not exceed what is held. */
function chargesOf(results: readonly BatchResult[], held: Micros): readonly Micros[] {
  let left: bigint = held
  return results.map(({ terms, page }) => {
    const price = page && terms ? terms.price : 0n
    const charge = price < left ? price : left
    left -= charge
    return micros(charge)
  })
}

async function readAll(
  deps: GatewayDeps,
  domain: SellingDomain,
  call: Call<BatchInput>,
): Promise<readonly BatchResult[]> {
  const entries = call.terms as readonly BatchEntry[]
  const reading = AbortSignal.timeout(READING_MS)
  const signal = AbortSignal.any([call.signal, reading])
  const results: BatchResult[] = []
  let bytes = 0
  const readEntry = async ({ url, terms }: BatchEntry): Promise<BatchResult> => {
    if (!('page' in terms)) return { url, terms: undefined, page: undefined, error: terms }
    const failed = (error: PageError) => ({ url, terms, page: undefined, error })
    if (bytes >= BYTES_MAX) return failed(FULL)
    if (signal.aborted) return failed(LATE)
    const paid = terms.page.rule.price > FREE
    const request = { payer: call.payer, signal, paid, isFree: terms.price === FREE }
    try {
      const page = toResult(await obtainPage(deps, domain, terms, request))
      const size = Buffer.byteLength(JSON.stringify(page))
      if (bytes + size > BYTES_MAX) return failed(FULL)
      bytes += size
      return { url, terms, page, error: undefined }
    } catch (error) {
      if (signal.aborted) return failed(LATE)
      return failed(toPageError(error))
    }
  }
  const pending = entries.entries()
  const work = async (): Promise<void> => {
    for (const [n, entry] of pending) results[n] = await readEntry(entry)
  }
  await Promise.all(Array.from({ length: CONCURRENT_READS }, work))
  return results
}

const REPEATED: PageError = {
  code: 'repeated_url',
  detail: 'The batch has this page already.',
  isFailure: false,
}
const FULL: PageError = {
  code: 'batch_full',
  detail: `A batch has ${BYTES_MAX} bytes at most: request this page again.`,
  isFailure: false,
}
const LATE: PageError = {
  code: 'timeout',
  detail: 'The batch took too long: request this page again.',
  isFailure: true,
}

/** @throws an error that is no reason of a page */
function toPageError(error: unknown): PageError {
  const isFailure = error instanceof Failure || error instanceof RenderError
  if (!isFailure && !(error instanceof Refusal)) throw error
  return { code: error.code, detail: error.message, isFailure }
}

/** The error of a batch that delivers nothing: that of the site if it failed. */
function undelivered(results: readonly BatchResult[]): Refusal | Failure {
  const errors = results.flatMap(({ error }) => error ?? [])
  const first = errors.find(({ isFailure }) => isFailure) ?? errors[0]
  const pages = results.map(({ url, error }) => ({ url, code: error?.code ?? 'not_delivered' }))
  const detail = `No page was delivered. ${first?.detail ?? ''}`
  const code = first?.code ?? 'content_unavailable'
  return first?.isFailure
    ? new Failure(502, code, detail, { pages })
    : new Refusal(code, detail, { pages })
}
