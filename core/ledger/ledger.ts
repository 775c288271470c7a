import type { ClientBase, Pool } from 'pg'
import type { Micros } from '../money.ts'
import {
  Batcher,
  type BatcherOptions,
  type Operation,
  type Result,
  STEP,
  type Step,
} from './batch.ts'
import { type Account, type Asset, OUTCOMES, type Outcome, type SingleStepEvent } from './events.ts'
import { postings } from './postings.ts'
import { isPeriodClosed, untilAnswered } from './retry.ts'

const ASSET_ID: Record<Asset, number> = { USDC: 1, GWEI: 2, FREECALL: 3, ALLOWANCE: 4 }
/** By the kind of the newest row of a hold. */
const HOLD_STATES: Readonly<Record<number, HoldState>> = {
  1: 'open',
  2: 'settled',
  3: 'released',
  4: 'expired',
}
const CACHED_ACCOUNTS_MAX = 100_000

/** An account as the hot path needs it. */
export interface AccountRef {
  readonly id: bigint
  readonly code: Account
  readonly asset: Asset
  /** The shard that holds its balance. */
  readonly shard: number
}

export interface ReserveOrder {
  /** Call id, UUID version 7: the same id again is answered `replayed`, never held twice. */
  readonly call: string
  readonly owner: AccountRef
  /** In units of the owner's asset; above zero. */
  readonly amount: bigint
  readonly payee: AccountRef
  /** Commission of whatever will be charged, in basis points. */
  readonly commissionBps: number
  /** After this many seconds the sweeper may give the hold back. */
  readonly ttlSeconds: number
  /** Endpoint and price version of the catalogue; 0 where there is none. */
  readonly endpoint?: number
  readonly priceVersion?: number
  /** Allowances on the same shard that fall by the same amount, all or none. */
  readonly guards?: readonly AccountRef[]
}

/** A hold, known by the account that pays and the call. */
export interface HoldRef {
  readonly call: string
  readonly owner: AccountRef
}

/** Whose entry an event is, and how it is known. */
export interface Entry {
  /** The account whose history it belongs to; its shard is where the entry is booked. */
  readonly owner: AccountRef
  /** An id that this fact always has, UUID version 7: the same fact again is `replayed`. */
  readonly id: string
  /** When it happened outside, if that is not now: its value date. */
  readonly effectiveAt?: Date
  /** What explains it: transaction, author, reason … */
  readonly meta?: Readonly<Record<string, unknown>>
}

export type HoldState = 'open' | 'settled' | 'released' | 'expired'

export interface OpenAccount {
  /** The only shard that holds a balance of it; left out: every shard has one. */
  readonly home?: number
}

export interface LedgerOptions extends BatcherOptions {
  /** As many as the database has. @defaultValue 1 */
  readonly shards?: number
}

/** The only door to money. Whatever is repeated with the same id happens once. */
export class Ledger {
  readonly #pool: Pool
  readonly #batchers: readonly Batcher[]
  readonly #accounts = new Map<Account, AccountRef>()

  /**
   * @param pool connections of the role `hub_app`, best used by nothing else: one for each shard
   *   and lane, and one for the rest
   */
  constructor(pool: Pool, { shards = 1, ...options }: LedgerOptions = {}) {
    this.#pool = pool
    this.#batchers = Array.from({ length: shards }, (_, shard) => new Batcher(pool, shard, options))
  }

  /**
   * Holds money, or a unit, for a call.
   * @returns `applied`, `replayed`, `insufficient_funds` or `id_reused_with_other_terms`
   * @throws LedgerUnavailable when the outcome could not be learned in time
   */
  reserve(order: ReserveOrder): Promise<Result> {
    return this.#submit(order.owner, {
      ...NO_TERMS,
      step: STEP.reserve,
      id: order.call,
      amount: order.amount,
      asset: ASSET_ID[order.owner.asset],
      payee: order.payee.id,
      bps: order.commissionBps,
      ttlSeconds: order.ttlSeconds,
      endpoint: order.endpoint ?? 0,
      priceVersion: order.priceVersion ?? 0,
      guards: order.guards?.map(({ id }) => id) ?? [],
    })
  }

  /**
   * Charges at most what is held and gives the rest back. The commission follows from the terms
   * of the reserve.
   * @returns `applied`, `replayed`, `no_such_hold`, `above_hold` or `id_reused_with_other_terms`
   */
  settle(hold: HoldRef, charged: bigint): Promise<Result> {
    return this.#resolve(STEP.settle, hold, charged)
  }

  /** Gives all of a hold back. Outcomes as for `settle`. */
  release(hold: HoldRef): Promise<Result> {
    return this.#resolve(STEP.release, hold)
  }

  /** Gives back a hold whose time is up; `no_such_hold` while it is not. */
  expire(hold: HoldRef): Promise<Result> {
    return this.#resolve(STEP.expire, hold)
  }

  /**
   * Books an event of a single step. A value date in a closed month does not lose it: the entry is
   * then dated when it is booked, and its `meta.value_date` tells of the other.
   * @returns `applied`, `replayed`, `insufficient_funds` or `id_reused_with_other_terms`; of a
   *   reversal also `no_such_hold` (the call was never charged) and `above_hold` (by less)
   * @throws LedgerUnavailable when the outcome could not be learned in time
   */
  async post(event: SingleStepEvent, entry: Entry): Promise<Outcome> {
    try {
      return await this.#post(event, entry)
    } catch (error) {
      const { effectiveAt, ...rest } = entry
      if (!isPeriodClosed(error) || effectiveAt === undefined) throw error
      const meta = { ...entry.meta, value_date: effectiveAt.toISOString() }
      return this.#post(event, { ...rest, meta })
    }
  }

  async #post(event: SingleStepEvent, entry: Entry): Promise<Outcome> {
    return untilAnswered(() => postEntry(this.#pool, this, event, entry))
  }

  /** Opens an account, or finds the one that is open already. */
  async open(code: Account, asset: Asset, { home }: OpenAccount = {}): Promise<AccountRef> {
    const known = this.#accounts.get(code)
    if (known) return known
    const { rows } = await untilAnswered(() =>
      this.#pool.query<{ id: bigint }>('SELECT ledger.open_account($1, $2, $3) AS id', [
        code,
        ASSET_ID[asset],
        home ?? null,
      ]),
    )
    return this.#remember({ id: rows[0]!.id, code, asset, shard: home ?? 0 })
  }

  /**
   * Finds an open account.
   * @throws Error when there is none: the caller forgot to open it
   */
  async account(code: Account): Promise<AccountRef> {
    const known = this.#accounts.get(code)
    if (known) return known
    const { rows } = await untilAnswered(() =>
      this.#pool.query<{ id: bigint; home: number | null; asset: Asset }>(
        `SELECT a.id, a.home, s.code AS asset
         FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset WHERE a.code = $1`,
        [code],
      ),
    )
    const [row] = rows
    if (!row) throw new Error(`no such account: ${code}`)
    return this.#remember({ id: row.id, code, asset: row.asset, shard: row.home ?? 0 })
  }

  /** How a hold ended, if it did; undefined for one that never was. */
  async stateOf({ call, owner }: HoldRef): Promise<HoldState | undefined> {
    const { rows } = await this.#pool.query<{ kind: number }>(
      `SELECT kind FROM ledger.journal WHERE owner = $1 AND id = $2 AND phase > 0
       ORDER BY phase DESC LIMIT 1`,
      [owner.id, call],
    )
    return rows[0] && HOLD_STATES[rows[0].kind]
  }

  /** What an account holds, over all shards; credit-positive. Zero for one that is not open. */
  async balance(code: Account): Promise<Micros> {
    const { rows } = await this.#pool.query<{ balance: string }>(
      `SELECT coalesce(sum(b.balance), 0)::text AS balance
       FROM ledger.account a JOIN ledger.balance b ON b.account = a.id WHERE a.code = $1`,
      [code],
    )
    return BigInt(rows[0]!.balance) as Micros
  }

  #resolve(step: Step, hold: HoldRef, amount = 0n): Promise<Result> {
    return this.#submit(hold.owner, { ...NO_TERMS, step, id: hold.call, amount })
  }

  #submit(owner: AccountRef, operation: Omit<Operation, 'owner'>): Promise<Result> {
    return this.#batchers[owner.shard]!.submit({ ...operation, owner: owner.id })
  }

  #remember(account: AccountRef): AccountRef {
    if (this.#accounts.size >= CACHED_ACCOUNTS_MAX) this.#accounts.clear()
    this.#accounts.set(account.code, account)
    return account
  }
}

/** Books an event of a single step, on a connection that may be within a transaction. */
export async function postEntry(
  database: Pool | ClientBase,
  ledger: Pick<Ledger, 'account'>,
  event: SingleStepEvent,
  entry: Entry,
): Promise<Outcome> {
  const legs = postings(event)
  const accounts = await Promise.all(legs.map(({ account }) => ledger.account(account)))
  const values = [
    entry.owner.shard,
    entry.owner.id,
    entry.id,
    event.type,
    accounts.map(({ id }) => id),
    legs.map(({ amount }) => amount),
    entry.effectiveAt ?? null,
    entry.meta === undefined ? null : JSON.stringify(entry.meta),
  ]
  const { rows } = await database.query<{ outcome: number }>(
    'SELECT ledger.post($1, $2, $3, $4, $5, $6, $7, $8) AS outcome',
    values,
  )
  return OUTCOMES[rows[0]!.outcome]!
}

/** Terms are read from the reserve when a hold is resolved. */
const NO_TERMS = {
  asset: 0,
  payee: 0n,
  bps: 0,
  ttlSeconds: 0,
  endpoint: 0,
  priceVersion: 0,
  guards: [],
} as const
