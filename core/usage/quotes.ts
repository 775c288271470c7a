import type { Pool } from 'pg'
import { Fault } from '../errors.ts'
import type { Micros } from '../money.ts'

/** A quote counts for so long. */
const QUOTE_SECONDS = 300

/** The price of one request of one key, at one version of the price. */
export interface QuotedPrice {
  readonly endpoint: number
  readonly priceVersion: number
  readonly amount: Micros
  readonly commissionBps: number
  /** sha256, see receipts.ts. */
  readonly requestHash: Buffer
}

/** Prices that were told to a key and count for some minutes, though they rise meanwhile. */
export class Quotes {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** @param id UUID version 7 */
  async create(
    id: string,
    keyId: string,
    held: QuotedPrice,
  ): Promise<{ readonly expiresAt: Date }> {
    const { endpoint, priceVersion, amount, commissionBps, requestHash } = held
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
   * What a key was quoted for a request.
   * @throws Fault `quote_not_found` (also for the quote of another key), `quote_expired`,
   *   `quote_mismatch` for another request
   */
  async find(
    id: string,
    keyId: string | null,
    asked: Pick<QuotedPrice, 'endpoint' | 'requestHash'>,
  ): Promise<QuotedPrice> {
    const { rows } = await this.#pool.query<QuoteRow>(
      `SELECT endpoint, price_version, amount, commission_bps, request_hash,
         expires_at <= now() AS over
       FROM hub.quote WHERE id = $1 AND key_id = $2`,
      [id, keyId],
    )
    const [row] = rows
    if (!row) throw new Fault('quote_not_found')
    if (row.over) throw new Fault('quote_expired')
    const same = row.endpoint === asked.endpoint && row.request_hash.equals(asked.requestHash)
    if (!same) throw new Fault('quote_mismatch')
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
  readonly over: boolean
}

/** Quotes that are over are of no use to anybody after a day. */
export const pruneQuotes = (pool: Pool): Promise<unknown> =>
  pool.query(`DELETE FROM hub.quote WHERE expires_at < now() - interval '1 day'`)
