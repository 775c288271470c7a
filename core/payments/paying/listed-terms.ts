import type { Pool } from 'pg'
import { type Micros, micros } from '../../money.ts'

/** Terms of a listed resource at the hub's last probe. */
export interface ListedTerms {
  readonly listing: string
  readonly payTo: string
  /** Payee before the changes that probes saw in 30 days; null: there was none. */
  readonly formerPayTo: string | null
  /** Lowest price of seven days, in microdollars: a raise counts only after that time. */
  readonly price: Micros
}

/** Store of the terms that purchases from listed sellers are compared with. */
export class ListedTermsStore {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Finds the terms of a URL: of its exact query if listed, else of the URL without a query. */
  async find(method: string, text: string): Promise<ListedTerms | undefined> {
    const url = URL.parse(text)
    if (!url) return undefined
    url.hash = ''
    const { rows } = await this.#pool.query<Omit<ListedTerms, 'price'> & { price: bigint }>(
      `SELECT id AS listing, pay_to AS "payTo", hub.stable_price(l) AS price,
         (SELECT c.before FROM hub.listing_change c WHERE c.listing = l.id AND c.field = 'pay_to'
           AND c.verified AND c.at > now() - interval '30 days'
           ORDER BY c.id LIMIT 1) AS "formerPayTo"
       FROM hub.listing l
       WHERE url = ANY ($2) AND method = $1 AND payable AND last_verified_at IS NOT NULL
         AND state <> 'unlisted'
       ORDER BY length(url) DESC LIMIT 1`,
      [method.toUpperCase(), [url.href, `${url.origin}${url.pathname}`]],
    )
    const [row] = rows
    return row && { ...row, price: micros(row.price) }
  }

  /** Schedules a probe now, because the seller's terms differ from the listed ones. */
  async requestProbe({ listing }: ListedTerms): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.listing SET next_probe_at = now() WHERE id = $1 AND next_probe_at > now()
         AND probed_at < now() - interval '1 minute'`,
      [listing],
    )
  }
}
