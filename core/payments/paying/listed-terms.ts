import type { Pool } from 'pg'
import { type Micros, micros } from '../../money.ts'

/** What the hub's own probe last saw a listed resource ask for. */
export interface ListedTerms {
  readonly listing: string
  readonly payTo: string
  /** Microdollars. */
  readonly price: Micros
}

/** The terms to which purchases from listed sellers are held. */
export class ListedTermsStore {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** The pin of a URL: of its very query if that is listed, else of what is listed without one. */
  async find(method: string, text: string): Promise<ListedTerms | undefined> {
    const url = URL.parse(text)
    if (!url) return undefined
    url.hash = ''
    const { rows } = await this.#pool.query<{ listing: string; payTo: string; price: bigint }>(
      `SELECT id AS listing, pay_to AS "payTo", price FROM hub.listing
       WHERE url = ANY ($2) AND method = $1 AND payable AND last_verified_at IS NOT NULL
         AND state <> 'unlisted'
       ORDER BY length(url) DESC LIMIT 1`,
      [method.toUpperCase(), [url.href, `${url.origin}${url.pathname}`]],
    )
    const [row] = rows
    return row && { ...row, price: micros(row.price) }
  }

  /** The seller asks for something else than what was seen: a probe looks at once. */
  async requestProbe({ listing }: ListedTerms): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.listing SET next_probe_at = now() WHERE id = $1 AND next_probe_at > now()
         AND probed_at < now() - interval '1 minute'`,
      [listing],
    )
  }
}
