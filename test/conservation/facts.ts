import type { Pool } from 'pg'
import type { Hex } from '../../core/payments/chain/asset.ts'
import type { Transfer } from './chain-transfers.ts'
import type { Charge } from './operators.ts'

/** An entry of the journal. */
export interface Entry {
  readonly event: string
  readonly id: string
  /** Code of the account whose history it belongs to. */
  readonly owner: string
  /** Of a call: what was held or charged; else what it moved, in all. */
  readonly amount: bigint
  readonly payer: string | null
  readonly nonce: string | null
}

/** A payment to the hub, as it keeps it. */
export interface Claim {
  readonly id: string
  readonly payer: string
  readonly nonce: string
  readonly amount: bigint
  readonly state: string
}

/** A payment to a seller, as the hub keeps it. */
export interface Intent {
  readonly call: string
  readonly owner: string
  readonly payee: string
  readonly nonce: string
  readonly amount: bigint
  readonly state: string
}

/** What an account comes to, by its postings and by its kept balance. Credits are positive. */
export interface Account {
  readonly code: string
  readonly asset: string
  readonly posted: bigint
  readonly kept: bigint
}

/** What the database says. */
export interface Books {
  readonly entries: readonly Entry[]
  readonly claims: readonly Claim[]
  readonly intents: readonly Intent[]
  readonly accounts: readonly Account[]
  /** By asset. */
  readonly openHolds: ReadonlyMap<string, bigint>
  /** Counted against the daily cap of the platform, of all days. */
  readonly outflow: bigint
}

/** What a wallet has on the chain, in microdollars, and gas in wei. */
export interface Holdings {
  readonly spend: bigint
  readonly treasury: bigint
  readonly gas: bigint
}

/** A key, as its owner sees it. */
export interface Standing {
  readonly keyId: string
  readonly balance: bigint
  readonly reserved: bigint
}

/** A payment that a buyer has sent, as the buyer sees it. */
export interface Attempt {
  readonly payer: Hex
  readonly nonce: Hex
  readonly amount: bigint
  /** What it was charged each time that it was answered. */
  readonly charged: readonly bigint[]
  /** Whether the same request, sent again in the end, was served; undefined: not tried. */
  readonly served: boolean | undefined
}

/** Everything that a judgement starts from. */
export interface Facts {
  readonly wallets: { readonly treasury: Hex; readonly spend: Hex }
  readonly before: { readonly holdings: Holdings; readonly books: Pick<Books, 'accounts'> }
  readonly holdings: Holdings
  readonly books: Books
  /** Of the token, since its beginning. */
  readonly transfers: readonly Transfer[]
  /** What each seller's wallet has. */
  readonly incomes: ReadonlyMap<Hex, bigint>
  /** What each wallet of a buyer was given, and has left. */
  readonly purses: ReadonlyMap<Hex, { readonly funded: bigint; readonly left: bigint }>
  readonly charges: readonly Charge[]
  readonly attempts: readonly Attempt[]
  readonly standings: readonly Standing[]
  /** Findings of those who look at the books in their own ways. */
  readonly findings: readonly string[]
}

/** Reads the books. */
export async function readBooks(pool: Pool): Promise<Books> {
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
     ), kept AS MATERIALIZED (
       SELECT account, sum(balance)::bigint AS sum FROM ledger.balance GROUP BY account
     )
     SELECT a.code, s.code AS asset, coalesce(posted.sum, 0) AS posted,
       coalesce(kept.sum, 0) AS kept
     FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset
     LEFT JOIN posted ON posted.account_id = a.id LEFT JOIN kept ON kept.account = a.id`,
  )
  return rows
}
