import type { Pool } from 'pg'
import { Fault } from '../errors.ts'
import type { Micros } from '../money.ts'
import { type MeteredPrice, unitPrice } from '../plugin/metered.ts'

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

/** Quoted price as it is found again. */
export interface FoundQuote extends QuotedPrice {
  /** Set if the price version is metered; `amount` is then the maximum. */
  readonly metered: MeteredPrice | undefined
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
  ): Promise<FoundQuote> {
    const { rows } = await this.#pool.query<QuoteRow>(
      `SELECT q.endpoint, q.price_version, q.amount, q.commission_bps, q.request_hash,
         q.expires_at <= now() AS expired, p.unit, p.unit_amount, p.unit_per
       FROM hub.quote q JOIN hub.price p ON (p.endpoint, p.version) = (q.endpoint, q.price_version)
       WHERE q.id = $1 AND q.key_id = $2`,
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
      metered: meteredOf(row),
    }
  }
}

const meteredOf = ({ unit, amount, unit_amount, unit_per }: QuoteRow): MeteredPrice | undefined =>
  unit === null
    ? undefined
    : { unit, max: amount as Micros, of: unitPrice(unit_amount as Micros, unit_per!) }

interface QuoteRow {
  readonly endpoint: number
  readonly price_version: number
  readonly amount: bigint
  readonly commission_bps: number
  readonly request_hash: Buffer
  readonly expired: boolean
  readonly unit: string | null
  readonly unit_amount: bigint | null
  readonly unit_per: bigint | null
}
