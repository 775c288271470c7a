import { Fault } from '../../core/errors.ts'
import { decimal, type Micros, micros, usd } from '../../core/money.ts'
import type { HttpResponse } from '../http/http-response.ts'

/**
 * Parses `crawler-max-price: USD 0.01` of pay-per-crawl, the crawlers' form of `X-Max-Price`. The
 * response reports `crawler-charged`, or `crawler-price` with a 402.
 * @throws Fault `validation_failed`
 */
export function parseCrawlerMaxPrice(header: string | undefined): Micros | undefined {
  if (header === undefined || header === '') return undefined
  const [, amount] = /^USD (\d{1,9}(?:\.\d{1,6})?)$/i.exec(header.trim()) ?? []
  if (amount !== undefined) return usd(amount)
  throw new Fault('validation_failed', 'crawler-max-price must be an amount such as "USD 0.01".')
}

/** Returns the lower of two optional limits. */
export const lowerOf = (one: Micros | undefined, other: Micros | undefined): Micros | undefined =>
  one === undefined || (other !== undefined && other < one) ? other : one

/** Returns the name of the header that sets the lower limit. */
export const crawlerName = (max: Micros | undefined, crawlerMax: Micros): string | undefined =>
  max === undefined || crawlerMax < max ? 'crawler-max-price' : undefined

/** Makes a call and adds the price headers of pay-per-crawl to its response or 402. */
export async function withCrawlerPrice(make: () => Promise<HttpResponse>): Promise<HttpResponse> {
  try {
    const reply = await make()
    const charged = reply.headers['X-Charged-Microdollars']
    if (charged === undefined) return reply // a stream is charged at its end
    return { ...reply, headers: { ...reply.headers, 'crawler-charged': amountOf(charged) } }
  } catch (error) {
    if (!(error instanceof Fault) || error.status !== 402) throw error
    const { price_microdollars: price } = error.extras
    if (typeof price !== 'number') throw error
    const headers = { ...error.headers, 'crawler-price': amountOf(String(price)) }
    throw error.with({ headers })
  }
}

const amountOf = (text: string): string => `USD ${decimal(micros(BigInt(text)))}`
