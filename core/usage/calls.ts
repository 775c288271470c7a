import type { Pool } from 'pg'
import { isRefusal } from '../ledger/retry.ts'
import type { Log } from '../log.ts'
import { findRecord, type Recorded } from './call-records.ts'

/** What happened in one call: an explanation beside the journal's truth. */
export interface CallRecord {
  /** Call id, UUID version 7. */
  readonly id: string
  readonly at: Date
  readonly requestId: string
  readonly principal: string
  /** Null: paid by x402 without a key. */
  readonly keyId: string | null
  readonly service: string
  readonly endpoint: number
  readonly priceVersion: number
  readonly source: 'free' | 'credits' | 'x402' | 'none'
  /** Microdollars. */
  readonly charged: bigint
  readonly outcome: 'delivered' | 'failed' | 'unresolved' | 'taken'
  readonly status: number
  readonly latencyMs: number
  readonly reason: string | null
  /** sha256, see receipts.ts. */
  readonly requestHash: Buffer | null
  readonly responseHash: Buffer | null
  /** Id of the rows of the journal; null: no money was asked for. */
  readonly entry: string | null
}

const FLUSH_EVERY_MS = 250
const BATCH_MAX = 1_000
const WAITING_MAX = 20_000

/** Writes call records in batches, off the path of the answers; durable within a second. */
export class CallLog {
  readonly #pool: Pool
  readonly #log: Log
  #waiting: CallRecord[] = []
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  constructor(pool: Pool, log: Log) {
    this.#pool = pool
    this.#log = log
  }

  add(record: CallRecord): void {
    if (this.#waiting.length >= WAITING_MAX) {
      this.#log.error({ call: record.id }, 'call record dropped: too many are waiting')
      return
    }
    this.#waiting.push(record)
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref()
  }

  /** Writes whatever waits. Failures are logged and tried again with the next batch. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flushing = this.#flushing.then(() => this.#drain())
    return this.#flushing
  }

  /** A call of before: of this process, or written by another one. */
  async find(id: string): Promise<Recorded | undefined> {
    await this.flush()
    return findRecord(this.#pool, id)
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX)
      try {
        await this.#write(batch)
      } catch (error) {
        this.#log.error({ err: error, records: batch.length }, 'call records not written yet')
        this.#waiting.unshift(...batch)
        this.#timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS * 4).unref()
        return
      }
    }
  }

  /** A record that the database refuses is told and left out: the others do not wait for it. */
  async #write(batch: readonly CallRecord[]): Promise<void> {
    try {
      await this.#insert(batch)
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (batch.length === 1) {
        this.#log.error({ err: error, call: batch[0]!.id }, 'call record refused by the database')
        return
      }
      const half = batch.length >> 1
      await this.#write(batch.slice(0, half))
      await this.#write(batch.slice(half))
    }
  }

  async #insert(batch: readonly CallRecord[]): Promise<void> {
    const rows = batch.map((r) => ({
      id: r.id,
      at: r.at,
      request_id: r.requestId,
      principal: r.principal,
      key_id: r.keyId,
      service: r.service,
      endpoint: r.endpoint,
      price_version: r.priceVersion,
      source: r.source,
      charged: String(r.charged),
      outcome: r.outcome,
      status: r.status,
      latency_ms: r.latencyMs,
      reason: r.reason,
      request_hash: hex(r.requestHash),
      response_hash: hex(r.responseHash),
      entry: r.entry,
    }))
    await this.#pool.query(
      `INSERT INTO hub.call SELECT * FROM json_populate_recordset(NULL::hub.call, $1)
       ON CONFLICT (id) DO NOTHING`,
      [JSON.stringify(rows)],
    )
  }
}

/** As PostgreSQL reads bytes. */
const hex = (bytes: Buffer | null): string | null => bytes && `\\x${bytes.toString('hex')}`
