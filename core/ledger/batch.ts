import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ShardDatabase } from '../db/citus/shard-connections.ts'
import { LinkedList, type ListEntry } from '../linked-list.ts'
import { LEDGER_OUTCOMES, type LedgerOutcome } from './events.ts'
import { FairQueue } from './queue.ts'
import { isDuplicateKey, LedgerUnavailable, RETRY_FOR_MS, withRetry } from './retry.ts'
import { type BatchItem, runBatch } from './run-batch.ts'

/** Steps of a hold; the numbers are the `kind`s of the journal. */
export const STEP = { reserve: 1, settle: 2, release: 3, expire: 4 } as const
export type Step = (typeof STEP)[keyof typeof STEP]

/** One operation on a hold: a row of the arguments of `ledger.apply`. */
export interface Operation {
  readonly step: Step
  readonly owner: bigint
  /** Call id, UUID version 7. */
  readonly id: string
  /** Amount to reserve or to charge, in units of the asset. */
  readonly amount: bigint
  /** Asset id of the owner's account (reserve). */
  readonly asset: number
  readonly payee: bigint
  /** Commission on the charged amount, in basis points. */
  readonly bps: number
  readonly ttlSeconds: number
  readonly endpoint: number
  readonly priceVersion: number
  readonly guards: readonly bigint[]
}

export interface HoldResult {
  readonly outcome: LedgerOutcome
  /** Balance of the owner after the batch that resolved the hold; 0 for a reserve. */
  readonly balance: bigint
}

interface PendingOperation extends BatchItem<HoldResult> {
  readonly operation: Operation
  /** Ticks of `TICK_MS` that a reserve has waited. */
  ticks: number
  /** Place among the reserves without a result. */
  entry: ListEntry<PendingOperation> | undefined
}

export interface BatcherOptions {
  /** Batches in flight at once; they wait for the shard's head lock. @defaultValue 1 */
  readonly concurrency?: number
  readonly batchMax?: number
  /** Milliseconds to retry a batch while the database is unreachable. @defaultValue 15000 */
  readonly retryForMs?: number
  /** Called with the number of operations in each batch. */
  readonly onBatch?: (operations: number) => void
}

/** Most operations of a batch. */
export const BATCH_MAX = 1_000
/** Interval at which waiting reserves are checked. */
export const TICK_MS = 500
/**
 * Maximum wait of a reserve. Its call has not begun, so the caller should learn early that the
 * database is unreachable. Counted in ticks, so that a busy event loop does not reject reserves.
 */
export const RESERVE_TICKS = 5

export const QUEUE_MAX = 50_000
const QUEUE_OWNER_MAX = 20_000
const APPLY = {
  name: 'ledger.apply',
  text: `SELECT array_to_string(outcomes, '') AS outcomes, owners::text, balances::text
    FROM ledger.apply($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
}

/**
 * Group commit for one shard. While a batch is in flight, new operations queue for the next one.
 * No batch waits for a timer: light load gives batches of one, heavy load few large transactions.
 * The next batch starts one turn of the event loop after one of several operations, so that half of
 * the calls are in the database while the hub works on the others. It costs as much as 80
 * operations, so it does not start earlier; after more turns nearly all calls wait for one batch.
 * - Owners are served in turns: one that floods the queue delays only itself.
 * - After a lost connection the batch is repeated with the same ids; the journal reports those
 *   that were applied as replayed.
 * - An operation that the database rejects with an error fails on its own: its batch is split.
 */
export class Batcher {
  readonly #database: ShardDatabase
  readonly #shard: number
  readonly #options: Required<BatcherOptions>
  readonly #queue = new FairQueue<PendingOperation>(QUEUE_MAX, QUEUE_OWNER_MAX)
  /** Reserves without a result. */
  readonly #reserves = new LinkedList<PendingOperation>()
  #ticker: NodeJS.Timeout | undefined
  #activeBatches = 0
  #scheduled = false

  constructor(database: ShardDatabase, shard: number, options: BatcherOptions = {}) {
    this.#database = database
    this.#shard = shard
    this.#options = {
      concurrency: 1,
      batchMax: BATCH_MAX,
      retryForMs: RETRY_FOR_MS,
      onBatch: () => {},
      ...options,
    }
  }

  /**
   * @throws LedgerUnavailable if the queue is full, in total or for this owner, or if the database
   *   stays unreachable
   */
  submit(operation: Operation): Promise<HoldResult> {
    return new Promise((resolve, reject) => {
      const pending: PendingOperation = {
        operation,
        resolve: (result) => {
          this.#finish(pending, result)
          resolve(result)
        },
        reject: (error) => {
          this.#forget(pending)
          reject(error)
        },
        ticks: 0,
        entry: undefined,
      }
      if (!this.#queue.push(pending)) {
        reject(new LedgerUnavailable('too many operations are waiting'))
        return
      }
      if (operation.step === STEP.reserve) {
        pending.entry = this.#reserves.add(pending)
        this.#ticker ??= setInterval(() => this.#rejectLate(), TICK_MS).unref()
      }
      if (this.#scheduled) return
      this.#scheduled = true
      setImmediate(() => {
        this.#scheduled = false
        this.#pump()
      })
    })
  }

  #pump(): void {
    while (this.#activeBatches < this.#options.concurrency && this.#queue.size > 0) {
      const batch = this.#queue.take(this.#options.batchMax).filter((each) => !this.#isLate(each))
      if (batch.length === 0) continue
      this.#options.onBatch(batch.length)
      this.#activeBatches++
      void this.#run(batch)
    }
  }

  async #run(batch: readonly PendingOperation[]): Promise<void> {
    try {
      await runBatch(batch, (items) => this.#apply(items))
      if (batch.length > 1) await nextTurn()
    } finally {
      this.#activeBatches--
      this.#pump()
    }
  }

  /** A reserve that was reported as failed is released at once, if it took effect. */
  #finish(pending: PendingOperation, { outcome }: HoldResult): void {
    const hasHold = outcome === 'applied' || outcome === 'replayed'
    if (this.#isLate(pending) && hasHold) {
      const release = { ...pending.operation, step: STEP.release, amount: 0n, guards: [] }
      this.submit(release).catch(() => {})
    }
    this.#forget(pending)
  }

  #forget({ entry }: PendingOperation): void {
    if (entry) this.#reserves.remove(entry)
  }

  #isLate({ operation, ticks }: PendingOperation): boolean {
    return operation.step === STEP.reserve && ticks >= RESERVE_TICKS
  }

  /** Rejects reserves that have waited too long for the database. */
  #rejectLate(): void {
    for (const pending of this.#reserves.values()) {
      if (++pending.ticks < RESERVE_TICKS) continue
      pending.reject(new LedgerUnavailable('the database did not respond in time'))
    }
    if (this.#reserves.size > 0) return
    clearInterval(this.#ticker)
    this.#ticker = undefined
  }

  /** Retries pass `true` as the last argument: the database then looks up earlier effects. */
  async #apply(batch: readonly PendingOperation[]): Promise<HoldResult[]> {
    const operations = batch.map(({ operation }) => operation)
    const values = applyParameters(this.#shard, operations)
    let tries = 0
    const apply = () =>
      this.#database.query<ApplyRow>({ ...APPLY, values: [...values, tries++ > 0] })
    const runWithRetry = () => withRetry(apply, this.#options.retryForMs)
    const { rows } = await runWithRetry().catch((error: unknown) => {
      if (!isDuplicateKey(error) || tries > 1) throw error
      return runWithRetry()
    })
    return readResults(operations, rows[0]!)
  }
}

function applyParameters(shard: number, operations: readonly Operation[]): unknown[] {
  const column = (of: (operation: Operation) => bigint | number | string): string =>
    `{${operations.map(of).join(',')}}`
  const guarded = operations.flatMap((operation, i) =>
    operation.guards.map((guard) => ({ n: i + 1, guard })),
  )
  return [
    shard,
    column((o) => o.step),
    column((o) => o.owner),
    column((o) => o.id),
    column((o) => o.amount),
    column((o) => o.asset),
    column((o) => o.payee),
    column((o) => o.bps),
    column((o) => o.ttlSeconds),
    column((o) => o.endpoint),
    column((o) => o.priceVersion),
    `{${guarded.map(({ n }) => n).join(',')}}`,
    `{${guarded.map(({ guard }) => guard).join(',')}}`,
  ]
}

interface ApplyRow {
  readonly outcomes: string
  /** Owners whose holds were resolved, and their balances; both int8[] as text. */
  readonly owners: string | null
  readonly balances: string | null
}

function readResults(operations: readonly Operation[], row: ApplyRow): HoldResult[] {
  const amounts = toBigints(row.balances)
  const balances = new Map(toBigints(row.owners).map((owner, i) => [owner, amounts[i]!]))
  return operations.map(({ step, owner }, i) => ({
    outcome: LEDGER_OUTCOMES[Number(row.outcomes[i])]!,
    balance: (step === STEP.reserve ? undefined : balances.get(owner)) ?? 0n,
  }))
}

/** Parses the text of an int8[] without nulls; null gives an empty array. */
const toBigints = (text: string | null): bigint[] => text?.slice(1, -1).split(',').map(BigInt) ?? []
