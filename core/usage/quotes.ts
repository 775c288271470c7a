import type { Pool } from 'pg'
import { Fault } from '../errors.ts'
import type { Micros } from '../money.ts'

/** Lifetime of a quote. */
const QUOTE_SECONDS = 300

/** Price of one request of one key, at one price version. */
export interface QuotedPrice {
  readonly endpoint: number
  readonly priceVersion: number
  readonly amount: Micros
  readonly commissionBps: number
  /** See `hashRequest` in receipts.ts. */
  readonly requestHash: Buffer
}

/** Quoted prices, valid for some minutes even if the price rises. */
export class Quotes {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** @param id UUID version 7 */
  async create(
    id: string,
    keyId: string,
    quoted: QuotedPrice,
  ): Promise<{ readonly expiresAt: Date }> {
    const { endpoint, priceVersion, amount, commissionBps, requestHash } = quoted
    const { rows } = await this.#pool.query<{ expires_at: Date }>(
      `INSERT INTO hub.quote (id, key_id, endpoint, price_version, amount, commission_bps,
         request_hash, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => ${QUOTE_SECONDS}))
       RETURNING expires_at`,
      [id, keyId, endpoint, priceVersion, amount, commissionBps, requestHash],
    )
    return { expiresAt: rows[0]!.expires_at }
  }

  /**
   * Finds the quoted price of a key for a request.
   * @throws Fault `quote_not_found` (also for the quote of another key), `quote_expired`,
   *   `quote_mismatch` if it was made for a different request
   */
  async find(
    id: string,
    keyId: string | null,
    request: Pick<QuotedPrice, 'endpoint' | 'requestHash'>,
  ): Promise<QuotedPrice> {
    const { rows } = await this.#pool.query<QuoteRow>(
      `SELECT endpoint, price_version, amount, commission_bps, request_hash,
         expires_at <= now() AS expired
       FROM hub.quote WHERE id = $1 AND key_id = $2`,
      [id, keyId],
    )
    const [row] = rows
    if (!row) throw new Fault('quote_not_found')
    if (row.expired) throw new Fault('quote_expired')
    const isSame = row.endpoint === request.endpoint && row.request_hash.equals(request.requestHash)
    if (!isSame) throw new Fault('quote_mismatch')
    return {
      endpoint: row.endpoint,
      priceVersion: row.price_version,
      amount: row.amount as Micros,
      commissionBps: row.commission_bps,
      requestHash: row.request_hash,
    }
  }
}

interface QuoteRow {
  readonly endpoint: number
  readonly price_version: number
  readonly amount: bigint
  readonly commission_bps: number
  readonly request_hash: Buffer
  readonly expired: boolean
}
