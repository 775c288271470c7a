import type { ClientBase, Pool } from 'pg'
import { elapsedMs } from '../clock.ts'
import { LEDGER_OUTCOMES, type LedgerOutcome } from './events.ts'
import { LedgerUnavailable, RETRY_FOR_MS, withRetry } from './retry.ts'
import { type BatchItem, runBatch } from './run-batch.ts'

/** Single-step entry with the ids of its accounts: an element of the argument of `post_batch`. */
export interface PreparedEntry {
  readonly owner: bigint
  readonly id: string
  readonly event: string
  readonly accounts: readonly bigint[]
  readonly amounts: readonly bigint[]
  readonly effectiveAt: Date | undefined
  readonly meta: Readonly<Record<string, unknown>> | undefined
}

interface PendingEntry extends BatchItem<LedgerOutcome> {
  readonly entry: PreparedEntry
  /** Value of `elapsedMs` when it was queued. */
  readonly since: number
}

/** Small enough that calls on the shard wait only tens of milliseconds for its head. */
const BATCH_MAX = 50
const QUEUE_MAX = 10_000

/**
 * Group commit of single-step entries on one shard. While a batch is in flight, new entries queue
 * for the next one; there is no timer. An entry that the database rejects with an error fails on
 * its own: its batch is split. No entry is retried for longer than `retryForMs`, queueing included.
 */
export class PostBatcher {
  readonly #pool: Pool
  readonly #shard: number
  readonly #retryForMs: number
  #queue: PendingEntry[] = []
  #isRunning = false

  constructor(pool: Pool, shard: number, retryForMs = RETRY_FOR_MS) {
    this.#pool = pool
    this.#shard = shard
    this.#retryForMs = retryForMs
  }

  /** @throws LedgerUnavailable if the queue is full, or the outcome was not determined in time */
  post(entry: PreparedEntry): Promise<LedgerOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#queue.length >= QUEUE_MAX) {
        reject(new LedgerUnavailable('too many entries are waiting'))
        return
      }
      this.#queue.push({ entry, resolve, reject, since: elapsedMs() })
      if (this.#isRunning) return
      this.#isRunning = true
      setImmediate(() => void this.#runAll())
    })
  }

  async #runAll(): Promise<void> {
    while (this.#queue.length > 0) {
      await runBatch(this.#queue.splice(0, BATCH_MAX), (batch) => this.#postInTime(batch))
    }
    this.#isRunning = false
  }

  /** Posts a batch in the time that is left to its first entry, which has waited longest. */
  async #postInTime(batch: readonly PendingEntry[]): Promise<readonly LedgerOutcome[]> {
    const leftMs = batch[0]!.since + this.#retryForMs - elapsedMs()
    if (leftMs <= 0) throw new LedgerUnavailable('earlier entries took too long')
    return withRetry(() => this.#post(batch.map(({ entry }) => entry)), leftMs)
  }

  async #post(entries: readonly PreparedEntry[]): Promise<readonly LedgerOutcome[]> {
    if (entries.length === 1) return [await postAlone(this.#pool, this.#shard, entries[0]!)]
    const { rows } = await this.#pool.query<{ outcomes: readonly number[] }>({
      name: 'ledger.post_batch',
      text: 'SELECT ledger.post_batch($1, $2) AS outcomes',
      values: [this.#shard, JSON.stringify(entries.map(argumentOf))],
    })
    return rows[0]!.outcomes.map((outcome) => LEDGER_OUTCOMES[outcome]!)
  }
}

const argumentOf = ({ owner, accounts, amounts, effectiveAt, ...entry }: PreparedEntry) => ({
  ...entry,
  owner: String(owner),
  accounts: accounts.map(String),
  amounts: amounts.map(String),
  effective_at: effectiveAt,
})

/** Posts one entry on a connection, which may have a transaction open. */
export async function postAlone(
  database: Pool | ClientBase,
  shard: number,
  { owner, id, event, accounts, amounts, effectiveAt, meta }: PreparedEntry,
): Promise<LedgerOutcome> {
  const details = meta === undefined ? null : JSON.stringify(meta)
  const { rows } = await database.query<{ outcome: number }>({
    name: 'ledger.post',
    text: 'SELECT ledger.post($1, $2, $3, $4, $5, $6, $7, $8) AS outcome',
    values: [shard, owner, id, event, accounts, amounts, effectiveAt ?? null, details],
  })
  return LEDGER_OUTCOMES[rows[0]!.outcome]!
}
