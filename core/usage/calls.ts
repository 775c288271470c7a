import type { Pool } from 'pg'
import { type Cell, copyInto } from '../db/copy.ts'
import { isDuplicateKey, isPermanentError } from '../ledger/retry.ts'
import type { Log } from '../log.ts'
import { findRecordedCall, type RecordedCall } from './call-records.ts'

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
const QUEUE_MAX = 20_000

/** Writes call records in batches, off the path of the answers; durable within a second. */
export class CallLog {
  readonly #pool: Pool
  readonly #log: Log
  #queue: CallRecord[] = []
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  constructor(pool: Pool, log: Log) {
    this.#pool = pool
    this.#log = log
  }

  add(record: CallRecord): void {
    if (this.#queue.length >= QUEUE_MAX) {
      this.#log.error({ call: record.id }, 'call record dropped: too many are waiting')
      return
    }
    this.#queue.push(record)
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
  async find(id: string): Promise<RecordedCall | undefined> {
    await this.flush()
    return findRecordedCall(this.#pool, id)
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, BATCH_MAX)
      try {
        await this.#write(batch)
      } catch (error) {
        this.#log.error({ err: error, records: batch.length }, 'call records not written yet')
        this.#queue.unshift(...batch)
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
      if (!isPermanentError(error)) throw error
      if (batch.length === 1) {
        this.#log.error({ err: error, call: batch[0]!.id }, 'call record refused by the database')
        return
      }
      const half = batch.length >> 1
      await this.#write(batch.slice(0, half))
      await this.#write(batch.slice(half))
    }
  }

  /** What the database has already, of a time when its answer was lost, stays as it is. */
  async #insert(batch: readonly CallRecord[]): Promise<void> {
    try {
      await copyInto(this.#pool, CALL_COLUMNS, batch.map(toCells))
    } catch (error) {
      if (!isDuplicateKey(error)) throw error
      const missing = await this.#missing(batch)
      if (missing.length === batch.length) throw error // one of them is in it twice
      if (missing.length > 0) await this.#insert(missing)
    }
  }

  async #missing(batch: readonly CallRecord[]): Promise<readonly CallRecord[]> {
    const ids = batch.map(({ id }) => id)
    const text = 'SELECT id FROM hub.call WHERE id = ANY ($1)'
    const { rows } = await this.#pool.query<{ id: string }>(text, [ids])
    const known = new Set(rows.map(({ id }) => id))
    return batch.filter(({ id }) => !known.has(id))
  }
}

const CALL_COLUMNS = `hub.call (id, at, request_id, principal, key_id, service, endpoint, price_version,
  source, charged, outcome, status, latency_ms, reason, request_hash, response_hash, entry)`

const toCells = (r: CallRecord): readonly Cell[] => [
  r.id,
  r.at,
  r.requestId,
  r.principal,
  r.keyId,
  r.service,
  r.endpoint,
  r.priceVersion,
  r.source,
  r.charged,
  r.outcome,
  r.status,
  r.latencyMs,
  r.reason,
  r.requestHash,
  r.responseHash,
  r.entry,
]
