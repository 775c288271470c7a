import type { ClientBase, Pool } from 'pg'
import type { ShardDatabase } from '../db/citus/shard-connections.ts'
import type { Micros } from '../money.ts'
import { Batcher, type BatcherOptions, type HoldResult, STEP, type Step } from './batch.ts'
import { type Account, type Asset, type LedgerOutcome, type SingleStepEvent } from './events.ts'
import { PostBatcher, type PreparedEntry, postAlone } from './post-batcher.ts'
import { postings } from './postings.ts'
import { isPeriodClosed, withRetry } from './retry.ts'

const ASSET_IDS: Record<Asset, number> = { USDC: 1, GWEI: 2, FREECALL: 3, ALLOWANCE: 4 }
const HOLD_STATES: Readonly<Record<number, HoldState>> = {
  1: 'open',
  2: 'settled',
  3: 'released',
  4: 'expired',
}
const CACHED_ACCOUNTS_MAX = 100_000

/** An account as the hot path needs it: without further lookups. */
export interface AccountRef {
  readonly id: bigint
  readonly code: Account
  readonly asset: Asset
  readonly shard: number
}

export interface ReserveOrder {
  /** Call id, UUID version 7. Repeating an id returns `replayed` and reserves nothing. */
  readonly call: string
  readonly owner: AccountRef
  /** Units of the owner's asset; above zero. */
  readonly amount: bigint
  readonly payee: AccountRef
  /** Commission on the amount charged at settlement, in basis points. */
  readonly commissionBps: number
  /** Seconds after which the sweeper may release the hold. */
  readonly ttlSeconds: number
  /** Endpoint and price version of the catalog; 0 if there is none. */
  readonly endpoint?: number
  readonly priceVersion?: number
  /** Allowances on the same shard, debited by the same amount: all of them or none. */
  readonly guards?: readonly AccountRef[]
}

/** A hold, identified by the paying account and the call. */
export interface HoldRef {
  readonly call: string
  readonly owner: AccountRef
}

/** Identity, date and metadata of a single-step entry. */
export interface EntryHeader {
  /** Account whose history contains the entry; the entry is posted on its shard. */
  readonly owner: AccountRef
  /** Stable id of the fact, UUID version 7. Posting it again returns `replayed`. */
  readonly id: string
  /** Value date: when it happened outside the hub. Defaults to the time of posting. */
  readonly effectiveAt?: Date
  /** Supporting details: transaction, author, reason … */
  readonly meta?: Readonly<Record<string, unknown>>
}

export type HoldState = 'open' | 'settled' | 'released' | 'expired'

export interface OpenAccount {
  /** The only shard with a balance of the account; if omitted, every shard has one. */
  readonly home?: number
}

/** Group commits of one shard. */
interface ShardBatchers {
  readonly holds: Batcher
  readonly entries: PostBatcher
}

export interface LedgerOptions extends BatcherOptions {
  /** Returns the database of a shard's batches. @defaultValue the pool */
  readonly databaseOf?: ((shard: number) => ShardDatabase) | undefined
}

/** Double-entry ledger: the only code that moves money. Operations are idempotent by id. */
export class Ledger {
  readonly #pool: Pool
  readonly #options: LedgerOptions
  /** By shard; shards may be added at any time. */
  readonly #batchers = new Map<number, ShardBatchers>()
  readonly #accounts = new Map<Account, AccountRef>()

  /**
   * @param pool dedicated connections of the role `hub_finance`: for each shard one for steps of
   *   holds and one for single-step entries, and some for everything else
   */
  constructor(pool: Pool, options: LedgerOptions = {}) {
    this.#pool = pool
    this.#options = options
  }

  /**
   * Reserves money, or free calls, for a call.
   * @returns `applied`, `replayed`, `insufficient_funds` or `id_reused_with_other_terms`
   * @throws LedgerUnavailable if the outcome could not be determined in time
   */
  reserve(order: ReserveOrder): Promise<HoldResult> {
    return this.#batchersOf(order.owner.shard).holds.submit({
      step: STEP.reserve,
      owner: order.owner.id,
      id: order.call,
      amount: order.amount,
      asset: ASSET_IDS[order.owner.asset],
      payee: order.payee.id,
      bps: order.commissionBps,
      ttlSeconds: order.ttlSeconds,
      endpoint: order.endpoint ?? 0,
      priceVersion: order.priceVersion ?? 0,
      guards: order.guards?.map(({ id }) => id) ?? [],
    })
  }

  /**
   * Charges up to the reserved amount and releases the rest. The commission rate is that of the
   * reserve.
   * @returns `applied`, `replayed`, `no_such_hold`, `above_hold` or `id_reused_with_other_terms`
   */
  settle(hold: HoldRef, charged: bigint): Promise<HoldResult> {
    return this.#resolve(STEP.settle, hold, charged)
  }

  /** Releases a hold in full. Outcomes as for `settle`. */
  release(hold: HoldRef): Promise<HoldResult> {
    return this.#resolve(STEP.release, hold)
  }

  /** Releases a hold that has expired; returns `no_such_hold` before its expiry. */
  expire(hold: HoldRef): Promise<HoldResult> {
    return this.#resolve(STEP.expire, hold)
  }

  /**
   * Posts a single-step event. If its value date lies in a closed month, the entry is dated when it
   * is posted and the original date is stored in `meta.value_date`.
   * @returns `applied`, `replayed`, `insufficient_funds` or `id_reused_with_other_terms`; for a
   *   reversal also `no_such_hold` (the call was not charged) and `above_hold` (charged less)
   * @throws LedgerUnavailable if the outcome could not be determined in time
   */
  async post(event: SingleStepEvent, entry: EntryHeader): Promise<LedgerOutcome> {
    const post = async (header: EntryHeader) =>
      this.#batchersOf(header.owner.shard).entries.post(await prepareEntry(this, event, header))
    try {
      return await post(entry)
    } catch (error) {
      const { effectiveAt, ...rest } = entry
      if (!isPeriodClosed(error) || effectiveAt === undefined) throw error
      return post({ ...rest, meta: { ...entry.meta, value_date: effectiveAt.toISOString() } })
    }
  }

  /** Opens an account, or returns the existing one. */
  async open(code: Account, asset: Asset, { home }: OpenAccount = {}): Promise<AccountRef> {
    const known = this.#accounts.get(code)
    if (known) return known
    const { rows } = await withRetry(() =>
      this.#pool.query<{ id: bigint }>('SELECT ledger.open_account($1, $2, $3) AS id', [
        code,
        ASSET_IDS[asset],
        home ?? null,
      ]),
    )
    return this.#remember({ id: rows[0]!.id, code, asset, shard: home ?? 0 })
  }

  /** Returns an open account. @throws Error if it was never opened: a programming error */
  async account(code: Account): Promise<AccountRef> {
    const known = this.#accounts.get(code)
    if (known) return known
    const { rows } = await withRetry(() =>
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

  /** Returns the state of a hold; undefined if it never existed. */
  async stateOf({ call, owner }: HoldRef): Promise<HoldState | undefined> {
    const { rows } = await this.#pool.query<{ kind: number }>(
      `SELECT kind FROM ledger.journal WHERE shard = $3 AND owner = $1 AND id = $2 AND phase > 0
       ORDER BY phase DESC LIMIT 1`,
      [owner.id, call, owner.shard],
    )
    return rows[0] && HOLD_STATES[rows[0].kind]
  }

  /** Returns what a hold was charged, in units of its asset; undefined if it was not settled. */
  async chargeOf({ call, owner }: HoldRef): Promise<bigint | undefined> {
    const { rows } = await this.#pool.query<{ amount: bigint }>(
      `SELECT amount FROM ledger.journal
       WHERE shard = $3 AND owner = $1 AND id = $2 AND phase = 2 AND kind = 2`,
      [owner.id, call, owner.shard],
    )
    return rows[0]?.amount
  }

  /** Balance of an account over all shards, credit-positive; zero if it is not open. */
  async balance(code: Account): Promise<Micros> {
    const { rows } = await this.#pool.query<{ balance: string }>(
      `SELECT coalesce(sum(b.balance), 0)::text AS balance
       FROM ledger.account a JOIN ledger.balance b ON b.account = a.id WHERE a.code = $1`,
      [code],
    )
    return BigInt(rows[0]!.balance) as Micros
  }

  #resolve(step: Step, { call: id, owner }: HoldRef, amount = 0n): Promise<HoldResult> {
    const operation = { step, owner: owner.id, id, amount, ...NO_RESERVE_TERMS }
    return this.#batchersOf(owner.shard).holds.submit(operation)
  }

  #batchersOf(shard: number): ShardBatchers {
    const known = this.#batchers.get(shard)
    if (known) return known
    const { databaseOf, ...options } = this.#options
    const batchers = {
      holds: new Batcher(databaseOf?.(shard) ?? this.#pool, shard, options),
      entries: new PostBatcher(this.#pool, shard, options.retryForMs),
    }
    this.#batchers.set(shard, batchers)
    return batchers
  }

  #remember(account: AccountRef): AccountRef {
    if (this.#accounts.size >= CACHED_ACCOUNTS_MAX) this.#accounts.clear()
    this.#accounts.set(account.code, account)
    return account
  }
}

/** Posts a single-step event on a connection, which may have a transaction open. */
export async function postEntry(
  client: ClientBase,
  ledger: Pick<Ledger, 'account'>,
  event: SingleStepEvent,
  header: EntryHeader,
): Promise<LedgerOutcome> {
  return postAlone(client, header.owner.shard, await prepareEntry(ledger, event, header))
}

async function prepareEntry(
  ledger: Pick<Ledger, 'account'>,
  event: SingleStepEvent,
  { owner, id, effectiveAt, meta }: EntryHeader,
): Promise<PreparedEntry> {
  const legs = postings(event)
  const accounts = await Promise.all(legs.map(({ account }) => ledger.account(account)))
  return {
    owner: owner.id,
    id,
    event: event.type,
    accounts: accounts.map((account) => account.id),
    amounts: legs.map(({ amount }) => amount),
    effectiveAt,
    meta,
  }
}

/** Placeholders for operations that resolve a hold: the database reads the terms of the reserve. */
const NO_RESERVE_TERMS = {
  asset: 0,
  payee: 0n,
  bps: 0,
  ttlSeconds: 0,
  endpoint: 0,
  priceVersion: 0,
  guards: [],
} as const
