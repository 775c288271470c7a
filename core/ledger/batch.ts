import type { Pool } from 'pg'
import { OUTCOMES, type Outcome } from './events.ts'
import { FairQueue } from './queue.ts'
import { isRefusal, isRepeatedId, LedgerUnavailable, RETRY_FOR_MS, untilAnswered } from './retry.ts'

/** What to do with a hold; the numbers are the `kind`s of the journal. */
export const STEP = { reserve: 1, settle: 2, release: 3, expire: 4 } as const
export type Step = (typeof STEP)[keyof typeof STEP]

/** One operation on a hold, as `ledger.apply` takes it. */
export interface Operation {
  readonly step: Step
  /** Account id of the one that pays. */
  readonly owner: bigint
  /** Call id, UUID version 7. */
  readonly id: string
  /** To reserve or to charge, in units of the asset. */
  readonly amount: bigint
  /** Asset id of the owner's account (reserve). */
  readonly asset: number
  readonly payee: bigint
  /** Commission in basis points, applied to whatever is charged. */
  readonly bps: number
  readonly ttlSeconds: number
  readonly endpoint: number
  readonly priceVersion: number
  readonly guards: readonly bigint[]
}

export interface Result {
  readonly outcome: Outcome
  /** The owner's balance after the batch that resolved the hold; 0 for a reserve. */
  readonly balance: bigint
}

interface Waiting {
  readonly operation: Operation
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export interface BatcherOptions {
  /** How many batches may be under way at once; they queue for the shard's head. @defaultValue 1 */
  readonly lanes?: number
  /** How many operations a batch takes. @defaultValue 1000 */
  readonly batchMax?: number
  /** How long a batch is tried again while the database is out of reach. @defaultValue 15000 */
  readonly retryForMs?: number
  /** Hears how many operations each batch has. */
  readonly onBatch?: (operations: number) => void
}

const QUEUE_MAX = 50_000
const QUEUE_OWNER_MAX = 20_000
const APPLY = {
  name: 'ledger.apply',
  text: `SELECT array_to_string(outcomes, '') AS outcomes, owners::text, balances::text
    FROM ledger.apply($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
}

/**
 * Group commit for one shard. While a batch is under way, new operations gather for the next:
 * no timer, so that light load means a batch of one, and heavy load few large transactions.
 * - An owner who sends more than there is room for waits behind itself, and delays nobody else.
 * - A lost connection repeats the batch with the same ids, which the journal then calls replayed.
 * - An operation that the database refuses with an error fails alone: its batch is split in two.
 */
export class Batcher {
  readonly #pool: Pool
  readonly #shard: number
  readonly #options: Required<BatcherOptions>
  readonly #queue = new FairQueue<Waiting>(QUEUE_MAX, QUEUE_OWNER_MAX)
  #underWay = 0
  #scheduled = false

  constructor(pool: Pool, shard: number, options: BatcherOptions = {}) {
    this.#pool = pool
    this.#shard = shard
    this.#options = {
      lanes: 1,
      batchMax: 1_000,
      retryForMs: RETRY_FOR_MS,
      onBatch: () => {},
      ...options,
    }
  }

  /**
   * @throws LedgerUnavailable when too much is waiting, in all or of this owner, or when the
   *   database stays out of reach
   */
  submit(operation: Operation): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (!this.#queue.push({ operation, resolve, reject })) {
        reject(new LedgerUnavailable('too many operations are waiting'))
        return
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
    while (this.#underWay < this.#options.lanes && this.#queue.size > 0) {
      const batch = this.#queue.take(this.#options.batchMax)
      this.#options.onBatch(batch.length)
      this.#underWay++
      void this.#run(batch).finally(() => {
        this.#underWay--
        this.#pump()
      })
    }
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.#apply(batch.map(({ operation }) => operation))
      batch.forEach(({ resolve }, i) => resolve(results[i]!))
    } catch (error) {
      if (batch.length === 1 || !isRefusal(error)) {
        for (const { reject } of batch) reject(error)
        return
      }
      const half = batch.length >> 1
      await this.#run(batch.slice(0, half))
      await this.#run(batch.slice(half))
    }
  }

  /** Whatever is asked again is asked exactly: what the first time may have done is looked up. */
  async #apply(operations: readonly Operation[]): Promise<Result[]> {
    const values = parameters(this.#shard, operations)
    let tries = 0
    const ask = () => this.#pool.query<Answer>({ ...APPLY, values: [...values, tries++ > 0] })
    const answered = () => untilAnswered(ask, this.#options.retryForMs)
    const { rows } = await answered().catch((error: unknown) => {
      if (!isRepeatedId(error) || tries > 1) throw error
      return answered()
    })
    return results(operations, rows[0]!)
  }
}

function parameters(shard: number, operations: readonly Operation[]): unknown[] {
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

interface Answer {
  /** One digit for each operation. */
  readonly outcomes: string
  /** Those whose holds were resolved, and what they have. */
  readonly owners: string | null
  readonly balances: string | null
}

function results(operations: readonly Operation[], answer: Answer): Result[] {
  const amounts = bigints(answer.balances)
  const balances = new Map(bigints(answer.owners).map((owner, i) => [owner, amounts[i]!]))
  return operations.map(({ step, owner }, i) => ({
    outcome: OUTCOMES[Number(answer.outcomes[i])]!,
    balance: (step === STEP.reserve ? undefined : balances.get(owner)) ?? 0n,
  }))
}

/** The text of an int8[] without nulls; null is that of none. */
const bigints = (text: string | null): bigint[] => text?.slice(1, -1).split(',').map(BigInt) ?? []
