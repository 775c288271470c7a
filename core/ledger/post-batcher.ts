import type { ClientBase, Pool } from 'pg'
import { LEDGER_OUTCOMES, type LedgerOutcome } from './events.ts'
import { isPermanent, withRetry } from './retry.ts'

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

interface PendingEntry {
  readonly entry: PreparedEntry
  readonly resolve: (outcome: LedgerOutcome) => void
  readonly reject: (error: unknown) => void
}

/** Small enough that calls on the shard wait only tens of milliseconds for its head. */
const BATCH_MAX = 50

/**
 * Group commit of single-step entries on one shard. While a batch is in flight, new entries queue
 * for the next one; there is no timer. An entry that the database rejects with an error fails on
 * its own: its batch is split.
 */
export class PostBatcher {
  readonly #pool: Pool
  readonly #shard: number
  #queue: PendingEntry[] = []
  #isRunning = false

  constructor(pool: Pool, shard: number) {
    this.#pool = pool
    this.#shard = shard
  }

  /** @throws LedgerUnavailable if the outcome could not be determined in time */
  post(entry: PreparedEntry): Promise<LedgerOutcome> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ entry, resolve, reject })
      if (this.#isRunning) return
      this.#isRunning = true
      setImmediate(() => void this.#runAll())
    })
  }

  async #runAll(): Promise<void> {
    while (this.#queue.length > 0) await this.#run(this.#queue.splice(0, BATCH_MAX))
    this.#isRunning = false
  }

  async #run(batch: readonly PendingEntry[]): Promise<void> {
    try {
      const outcomes = await withRetry(() => this.#postAll(batch.map(({ entry }) => entry)))
      batch.forEach(({ resolve }, i) => resolve(outcomes[i]!))
    } catch (error) {
      if (batch.length === 1 || !isPermanent(error)) {
        for (const { reject } of batch) reject(error)
        return
      }
      const half = batch.length >> 1
      await this.#run(batch.slice(0, half))
      await this.#run(batch.slice(half))
    }
  }

  async #postAll(entries: readonly PreparedEntry[]): Promise<readonly LedgerOutcome[]> {
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
  const { rows } = await database.query<{ outcome: number }>(
    'SELECT ledger.post($1, $2, $3, $4, $5, $6, $7, $8) AS outcome',
    [shard, owner, id, event, accounts, amounts, effectiveAt ?? null, details],
  )
  return LEDGER_OUTCOMES[rows[0]!.outcome]!
}
