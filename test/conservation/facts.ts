import type { Pool } from 'pg'
import type { Hex } from '../../core/payments/chain/asset.ts'
import type { Transfer } from './chain-transfers.ts'
import type { Charge } from './request-recorder.ts'

/** Journal entry. */
export interface Entry {
  readonly event: string
  readonly id: string
  /** Code of the account that owns the entry. */
  readonly owner: string
  /** For a call: the amount reserved or charged; otherwise the total amount moved. */
  readonly amount: bigint
  readonly payer: string | null
  readonly nonce: string | null
}

/** Payment to the hub, as stored by the hub. */
export interface Claim {
  readonly id: string
  readonly payer: string
  readonly nonce: string
  readonly amount: bigint
  readonly state: string
}

/** Payment to a seller, as stored by the hub. */
export interface Intent {
  readonly call: string
  readonly owner: string
  readonly payee: string
  readonly nonce: string
  readonly amount: bigint
  readonly state: string
}

/** Account with the sum of its postings and its stored balance. Credits are positive. */
export interface Account {
  readonly code: string
  readonly asset: string
  readonly posted: bigint
  readonly stored: bigint
}

/** Contents of the hub's database that the checks read. */
export interface DatabaseSnapshot {
  readonly entries: readonly Entry[]
  readonly claims: readonly Claim[]
  readonly intents: readonly Intent[]
  readonly accounts: readonly Account[]
  /** Total of open holds by asset. */
  readonly openHolds: ReadonlyMap<string, bigint>
  /** Total of all days counted against the platform's daily cap. */
  readonly outflow: bigint
}

/** Balances on the chain: USDC in microdollars, gas in wei. */
export interface ChainBalances {
  readonly spend: bigint
  readonly treasury: bigint
  readonly gas: bigint
  /** Treasuries on further networks, by name of the network. @defaultValue none */
  readonly further?: ReadonlyMap<string, bigint>
}

/** Balance of a key, as reported by the API. */
export interface KeyBalance {
  readonly keyId: string
  readonly balance: bigint
  readonly reserved: bigint
}

/** Payment sent by a buyer, as the buyer sees it. */
export interface PaymentAttempt {
  readonly payer: Hex
  readonly nonce: Hex
  readonly amount: bigint
  /** Requests that it was sent with. */
  readonly requests: readonly string[]
  /** True if the buyer was asked for another payment. */
  readonly isRefused: boolean
  /** Charge reported by each response. */
  readonly charged: readonly bigint[]
  /**
   * True if the same request, sent again at the end, was served; undefined if it was not sent
   * again.
   */
  readonly served: boolean | undefined
}

/** Input of the conservation check. */
export interface Facts {
  readonly wallets: { readonly treasury: Hex; readonly spend: Hex }
  readonly before: {
    readonly chainBalances: ChainBalances
    readonly database: Pick<DatabaseSnapshot, 'accounts'>
  }
  readonly chainBalances: ChainBalances
  readonly database: DatabaseSnapshot
  /** All transfers of the token since genesis. */
  readonly transfers: readonly Transfer[]
  /** Balance of each seller wallet. */
  readonly incomes: ReadonlyMap<Hex, bigint>
  /** Initial funding and remaining balance of each buyer wallet. */
  readonly buyerWallets: ReadonlyMap<Hex, { readonly funded: bigint; readonly left: bigint }>
  readonly charges: readonly Charge[]
  readonly attempts: readonly PaymentAttempt[]
  readonly keyBalances: readonly KeyBalance[]
  /** Findings of the ledger verification, the reconciliation and the load itself. */
  readonly findings: readonly string[]
}

/** Reads the database. */
export async function readDatabase(pool: Pool): Promise<DatabaseSnapshot> {
  const rows = async <T extends object>(sql: string): Promise<T[]> =>
    (await pool.query<T>(sql)).rows
  const holds = await rows<{ asset: string; sum: bigint }>(
    `SELECT s.code AS asset, sum(h.amount)::bigint AS sum FROM ledger.open_hold h
     JOIN ledger.asset s ON s.id = h.asset GROUP BY s.code`,
  )
  const [outflow] = await rows<{ sum: bigint }>(
    `SELECT coalesce(sum(amount), 0)::bigint AS sum FROM hub.outflow WHERE scope = 'platform'`,
  )
  return {
    entries: await rows(ENTRIES),
    claims: await rows('SELECT id, payer, nonce, amount, state FROM hub.payment_claim'),
    intents: await rows(
      `SELECT i.call, a.code AS owner, lower(i.payee) AS payee, i.nonce, i.amount, i.state
       FROM hub.payment_intent i JOIN ledger.account a ON a.id = i.owner`,
    ),
    accounts: await readAccounts(pool),
    openHolds: new Map(holds.map(({ asset, sum }) => [asset, sum])),
    outflow: outflow!.sum,
  }
}

const ENTRIES = `
  SELECT k.event, j.id, a.code AS owner, lower(j.meta ->> 'payer') AS payer,
    lower(j.meta ->> 'nonce') AS nonce,
    CASE WHEN j.phase IN (1, 2) THEN j.amount
      ELSE (SELECT sum(greatest(u, 0))::bigint FROM unnest(j.amounts) u) END AS amount
  FROM ledger.journal j
  JOIN ledger.kind k ON k.id = j.kind
  JOIN ledger.account a ON a.id = j.owner
  ORDER BY j.shard, j.seq`

export async function readAccounts(pool: Pool): Promise<Account[]> {
  const { rows } = await pool.query<Account>(
    `WITH posted AS MATERIALIZED (
       SELECT account_id, sum(amount)::bigint AS sum FROM ledger.posting GROUP BY account_id
     ), stored AS MATERIALIZED (
       SELECT account, sum(balance)::bigint AS sum FROM ledger.balance GROUP BY account
     )
     SELECT a.code, s.code AS asset, coalesce(posted.sum, 0) AS posted,
       coalesce(stored.sum, 0) AS stored
     FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset
     LEFT JOIN posted ON posted.account_id = a.id LEFT JOIN stored ON stored.account = a.id`,
  )
  return rows
}

/**
 * Amounts of payments that bought nothing and are deposits of their payers, by payer and nonce. The
 * behavior `foreign eager` leads to them: that facilitator settles what it shall only verify, also
 * a payment that the hub refuses because its payer must pay upfront, and does. Only then is a
 * deposit right; `checkBuyers` reports any other.
 */
export const depositsOf = ({
  entries,
  claims,
}: Pick<Facts['database'], 'entries' | 'claims'>): ReadonlyMap<string, bigint> => {
  const found = new Map(
    entries.filter(({ event }) => event === 'surplus.found').map(({ id, amount }) => [id, amount]),
  )
  return new Map(
    claims.flatMap(({ id, payer, nonce }) => {
      const amount = found.get(id)
      return amount === undefined ? [] : [[`${payer} ${nonce}`, amount] as const]
    }),
  )
}

/** Returns true for the entry of a deposit. */
export const isDeposit = (
  { claims }: Pick<Facts['database'], 'claims'>,
  event: string,
  id: string,
): boolean => event === 'surplus.found' && claims.some((claim) => claim.id === id)
