import type { Pool } from 'pg'
import { type Cell, copyInto } from '../db/copy.ts'
import { isDuplicateKey, isPermanent, withRetry } from '../ledger/retry.ts'
import type { Log } from '../log.ts'
import { logFailure } from '../outages.ts'
import { type CallRecord, findRecordedCall, type RecordedCall } from './call-records.ts'

const FLUSH_EVERY_MS = 250
const BATCH_MAX = 2_000
const QUEUE_MAX = 20_000

/** Writes call records in batches, without delaying responses; durable within a second. */
export class CallLog {
  readonly #pool: Pool
  readonly #log: Log
  readonly #onUnresolved: (calls: readonly string[]) => Promise<void>
  #queue: CallRecord[] = []
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  /** @param onUnresolved corrects records of calls that were resolved before these were written */
  constructor(
    pool: Pool,
    log: Log,
    onUnresolved: (calls: readonly string[]) => Promise<void> = async () => {},
  ) {
    this.#pool = pool
    this.#log = log
    this.#onUnresolved = onUnresolved
  }

  add(record: CallRecord): void {
    if (this.#queue.length >= QUEUE_MAX) {
      const fields = { err: 'the queue is full', component: 'database', call: record.id }
      logFailure(this.#log, 'error', fields, 'call record dropped')
      return
    }
    this.#queue.push(record)
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref()
  }

  /** Writes the queue. Failures are logged and retried with the next batch. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flushing = this.#flushing.then(() => this.#drain())
    return this.#flushing
  }

  /** Finds an earlier call, of this or another process. */
  async find(id: string): Promise<RecordedCall | undefined> {
    await this.flush()
    return findRecordedCall(this.#pool, id)
  }

  /**
   * Writes a record at once. A call has one record: the first one stays, unless it is unresolved.
   * @returns the record that counts
   */
  insert(record: CallRecord): Promise<CallRecord> {
    return withRetry(async () => {
      try {
        await copyInto(this.#pool, CALL_COLUMNS, [toCells(record)])
        return record
      } catch (error) {
        if (!isDuplicateKey(error)) throw error
        await this.#replaceUnresolved([record])
        return (await findRecordedCall(this.#pool, record.id))!.record
      }
    })
  }

  /** Corrects the record of a call whose payment was taken over before it was delivered. */
  async withdraw(id: string): Promise<void> {
    const text = `UPDATE hub.call SET charged = 0, outcome = 'failed' WHERE id = $1`
    await this.#pool.query(text, [id])
  }

  /** Writes what is queued now. Later records wait: a batch costs as much as 100 of them. */
  async #drain(): Promise<void> {
    for (let left = this.#queue.length; left > 0; ) {
      const batch = this.#queue.splice(0, Math.min(left, BATCH_MAX))
      left -= batch.length
      try {
        await this.#insertValid(batch)
        const unresolved = batch.filter(({ outcome }) => outcome === 'unresolved')
        if (unresolved.length > 0) await this.#onUnresolved(unresolved.map(({ id }) => id))
      } catch (err) {
        const fields = { err, records: batch.length }
        logFailure(this.#log, 'error', fields, 'call records not written yet')
        this.#queue.unshift(...batch)
        this.#timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS * 4).unref()
        return
      }
    }
  }

  /** Inserts a batch; bisects to log and drop records that the database rejects. */
  async #insertValid(batch: readonly CallRecord[]): Promise<void> {
    try {
      await this.#insert(batch)
    } catch (error) {
      if (!isPermanent(error)) throw error
      if (batch.length === 1) {
        this.#log.error({ err: error, call: batch[0]!.id }, 'call record rejected by the database')
        return
      }
      const half = batch.length >> 1
      await this.#insertValid(batch.slice(0, half))
      await this.#insertValid(batch.slice(half))
    }
  }

  /**
   * Skips records already inserted by an attempt whose result was lost. The record of a call that
   * was continued replaces the unresolved one of its first attempt.
   */
  async #insert(batch: readonly CallRecord[]): Promise<void> {
    try {
      await copyInto(this.#pool, CALL_COLUMNS, batch.map(toCells))
    } catch (error) {
      if (!isDuplicateKey(error)) throw error
      const missing = await this.#missing(batch)
      if (missing.length === batch.length) throw error // the batch has a duplicate
      await this.#replaceUnresolved(batch)
      if (missing.length > 0) await this.#insert(missing)
    }
  }

  /** Replaces the unresolved records of calls that have an outcome now. */
  async #replaceUnresolved(batch: readonly CallRecord[]): Promise<void> {
    const rows = batch.map(
      ({ id, source, charged, outcome, status, latencyMs, reason, ...more }) => ({
        id,
        source,
        charged: String(charged),
        outcome,
        status,
        latency_ms: latencyMs,
        reason,
        response_hash: more.responseHash && `\\x${more.responseHash.toString('hex')}`,
      }),
    )
    await this.#pool.query('SELECT hub.replace_unresolved($1)', [JSON.stringify(rows)])
  }

  async #missing(batch: readonly CallRecord[]): Promise<readonly CallRecord[]> {
    const ids = batch.map(({ id }) => id)
    const text = 'SELECT id FROM hub.call WHERE id = ANY ($1)'
    const { rows } = await this.#pool.query<{ id: string }>(text, [ids])
    const known = new Set(rows.map(({ id }) => id))
    return batch.filter(({ id }) => !known.has(id))
  }
}

const CALL_COLUMNS = `hub.call (id, at, request_id, principal, key_id, service, endpoint,
  price_version, source, charged, outcome, status, latency_ms, reason, request_hash,
  response_hash, entry, unit, quantity, unit_amount, unit_per, agent)`

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
  r.usage?.unit ?? null,
  r.usage?.quantity ?? null,
  r.usage?.amount ?? null,
  r.usage?.per ?? null,
  r.agent,
]
