import type { Egress } from '../egress/http.ts'
import { Fault } from '../errors.ts'
import { type Micros, priceTag, usd } from '../money.ts'

export interface PriceFeedSettings {
  /**
   * URL of a JSON document with the price of one ETH in USD. `{day}` stands for the day
   * (`2026-11-30`), and the fragment is a JSON pointer to the price: `https://…?date={day}#/price`.
   */
  readonly url: string
  /** Price around which a price is plausible. */
  readonly reference: Micros
}

/** Price of one ETH at the end of a day, and where and when it was read. */
export interface FeedPrice {
  readonly price: Micros
  readonly source: string
}

const BYTES_MAX = 65_536
const TIMEOUT_MS = 10_000
/** A price is plausible from a half to twice the reference. */
const FACTOR_MAX = 2n
const PRICE = /^\d{1,9}(?:\.\d{1,18})?$/
const MICROS_DIGITS = 6

/** Source of prices that a person may use for a revaluation. No code posts them automatically. */
export class PriceFeed {
  readonly host: string
  readonly #settings: PriceFeedSettings
  readonly #egress: Pick<Egress, 'request'>
  readonly #now: () => Date

  constructor(settings: PriceFeedSettings, egress: Pick<Egress, 'request'>, now: () => Date) {
    this.host = new URL(settings.url).host
    this.#settings = settings
    this.#egress = egress
    this.#now = now
  }

  /** @throws Fault `price_feed_unavailable`, `price_implausible` */
  async read(day: string): Promise<FeedPrice> {
    const { url, reference } = this.#settings
    const { hash: pointer } = new URL(url)
    const target = new URL(url.replaceAll('{day}', day))
    target.hash = ''
    const text = await this.#readText(target.href)
    const found = PRICE.exec(findValue(text, decodeURIComponent(pointer.slice(1))))?.[0]
    if (found === undefined) throw unavailable(`${this.host} returned no price at ${pointer}.`)
    const [whole, fraction = ''] = found.split('.')
    const price = usd(`${whole}.${fraction.slice(0, MICROS_DIGITS).padEnd(1, '0')}`)
    if (price * FACTOR_MAX < reference || price > reference * FACTOR_MAX) {
      throw new Fault(
        'price_implausible',
        `${this.host} reports ${priceTag(price)}, but HUB_ETH_PRICE is ${priceTag(reference)}.`,
      )
    }
    return { price, source: `${this.host} for ${day}, read ${this.#now().toISOString()}` }
  }

  async #readText(url: string): Promise<string> {
    try {
      const { status, body } = await this.#egress.request({
        url,
        method: 'GET',
        headers: { accept: 'application/json' },
        maxBytes: BYTES_MAX,
        timeouts: { totalMs: TIMEOUT_MS },
      })
      if (status !== 200) throw unavailable(`${this.host} responded with status ${status}.`)
      return body.toString('utf8')
    } catch (error) {
      if (error instanceof Fault) throw error
      throw unavailable(`${this.host}: ${(error as Error).message}`, error)
    }
  }
}

const unavailable = (detail: string, cause?: unknown): Fault =>
  new Fault('price_feed_unavailable', detail, { cause })

/** Returns the text or number at a JSON pointer (RFC 6901); '' if there is none. */
function findValue(text: string, pointer: string): string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return ''
  }
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return ''
    value = (value as Record<string, unknown>)[name]
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
