import { Fault } from '../../core/errors.ts'
import { decimal, type Micros, micros, usd } from '../../core/money.ts'
import type { Reply } from './call.ts'

/**
 * What crawlers say about prices, in the words of pay-per-crawl: `crawler-max-price: USD 0.01`
 * beside `X-Max-Price`, answered by `crawler-charged`, or in a 402 by `crawler-price`.
 * @throws Fault `validation_failed`
 */
export function crawlerMaxOf(header: string | undefined): Micros | undefined {
  if (header === undefined || header === '') return undefined
  const [, amount] = /^USD (\d{1,9}(?:\.\d{1,6})?)$/i.exec(header.trim()) ?? []
  if (amount !== undefined) return usd(amount)
  throw new Fault('validation_failed', 'crawler-max-price is an amount such as "USD 0.01".')
}

/** The lower of two maxima, where there are two. */
export const lowerOf = (one: Micros | undefined, other: Micros | undefined): Micros | undefined =>
  one === undefined || (other !== undefined && other < one) ? other : one

/** Makes a call of a crawler, and tells it the price in its own words. */
export async function asCrawler(make: () => Promise<Reply>): Promise<Reply> {
  try {
    const reply = await make()
    const charged = reply.headers['X-Charged-Microdollars']
    if (charged === undefined) return reply // a stream, which tells it at its end
    return { ...reply, headers: { ...reply.headers, 'crawler-charged': amountOf(charged) } }
  } catch (error) {
    if (!(error instanceof Fault) || error.status !== 402) throw error
    const { price_microdollars: price } = error.extras
    if (typeof price !== 'number') throw error
    const headers = { ...error.headers, 'crawler-price': amountOf(String(price)) }
    const { code, message, extras, cause } = error
    throw new Fault(code, message, { extras, headers, cause })
  }
}

const amountOf = (text: string): string => `USD ${decimal(micros(BigInt(text)))}`
