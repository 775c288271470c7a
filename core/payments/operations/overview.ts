import type { Pool } from 'pg'
import type { NetworkName } from '../../ledger/events.ts'
import { GAS, IN_TRANSIT, SPEND, walletOf } from '../../ledger/postings.ts'

/** States of payments whose outcome or finality is open. */
export const OPEN_STATES = {
  in: ['claimed', 'pending', 'settled'],
  out: ['signed', 'unresolved', 'paid'],
} as const
const sqlList = (states: readonly string[]) => states.map((state) => `'${state}'`).join(', ')
const OPEN_IN = sqlList(OPEN_STATES.in)
const OPEN_OUT = sqlList(OPEN_STATES.out)

/** A payment as stored in the database at the instant `now`. */
export interface PaymentDetails {
  /** Id of the call or purchase, which is the id of its journal entry. */
  readonly id: string
  readonly direction: 'in' | 'out'
  readonly purpose: 'credits' | 'call' | 'external'
  /** CAIP-2 name of its network. */
  readonly network: string
  /** Microdollars. */
  readonly amount: bigint
  /** Payer of an incoming payment, payee of an outgoing one. */
  readonly counterparty: string
  /** Host of the seller; null for incoming payments. */
  readonly host: string | null
  /** Key whose credits pay; null for incoming payments. */
  readonly key: string | null
  readonly state: string
  /** Status of the seller's response; null if there was none. */
  readonly status: number | null
  /** Fault code for a failed delivery. */
  readonly reason: string | null
  readonly transaction: string | null
  readonly nonce: string
  /** False for an upfront payment whose work has not succeeded yet. */
  readonly delivered: boolean
  readonly since: Date
  readonly ageSeconds: number
  /** Expiry of the signature. */
  readonly validBefore: Date
  readonly now: Date
}

export interface PaymentFilter {
  /** True for open payments only, oldest first; false for all, newest first. */
  readonly open: boolean
  readonly direction?: 'in' | 'out' | undefined
  readonly limit: number
  /** Continues after the payment with this id. */
  readonly after?: string | undefined
}

/** Lists payments in both directions, ordered by their time-ordered ids. */
export async function listPayments(
  pool: Pool,
  { open, direction, limit, after }: PaymentFilter,
): Promise<readonly PaymentDetails[]> {
  const [beyond, order] = open ? ['>', 'ASC'] : ['<', 'DESC']
  const page = (id: string, side: string, states: string) =>
    `WHERE coalesce($1, '${side}') = '${side}' AND ($2::uuid IS NULL OR ${id} ${beyond} $2)
       ${open ? `AND state IN (${states})` : ''}
     ORDER BY ${id} ${order} LIMIT $3`
  const { rows } = await pool.query<PaymentDetails>(
    `SELECT p.*, clock_timestamp() AS now,
       greatest(0, floor(extract(epoch FROM clock_timestamp() - since)))::integer AS "ageSeconds"
     FROM (
       (SELECT id, 'in' AS direction, purpose, network, amount, payer AS counterparty,
          NULL AS host, NULL AS key, state, NULL::smallint AS status, NULL AS reason, transaction,
          nonce,
          NOT upfront OR purpose <> 'call' OR delivered_at IS NOT NULL AS delivered,
          claimed_at AS since, valid_before AS "validBefore"
        FROM hub.payment_claim ${page('id', 'in', OPEN_IN)})
       UNION ALL
       (SELECT call, 'out', 'external', network, amount, payee, host,
          (SELECT split_part(code, ':', 3) FROM ledger.account a WHERE a.id = owner),
          state, status, reason, transaction, nonce, reason IS NULL, created_at, valid_before
        FROM hub.payment_intent ${page('call', 'out', OPEN_OUT)})
     ) p ORDER BY id ${order} LIMIT $3`,
    [direction ?? null, after ?? null, limit],
  )
  return rows
}

/** Sum of the open payments of one direction and state. */
export interface OpenPaymentGroup {
  readonly direction: 'in' | 'out'
  readonly state: string
  readonly count: bigint
  /** Microdollars. */
  readonly amount: bigint
  /** Age of the oldest one. */
  readonly oldestSeconds: number
  /** Number of those that have been open for an hour, and for a day. */
  readonly hourOld: bigint
  readonly dayOld: bigint
}

/** Selects all open payments of both directions. */
export const OPEN_PAYMENTS_SQL = `
  SELECT 'in' AS direction, state, network, amount, claimed_at AS since, valid_before
  FROM hub.payment_claim WHERE state IN (${OPEN_IN})
  UNION ALL
  SELECT 'out', state, network, amount, created_at, valid_before
  FROM hub.payment_intent WHERE state IN (${OPEN_OUT})`

export async function summarizeOpenPayments(pool: Pool): Promise<readonly OpenPaymentGroup[]> {
  const { rows } = await pool.query<OpenPaymentGroup>(
    `SELECT direction, state, count(*) AS count, sum(amount)::bigint AS amount,
       greatest(0, floor(extract(epoch FROM clock_timestamp() - min(since))))::integer
         AS "oldestSeconds",
       count(*) FILTER (WHERE since <= clock_timestamp() - interval '1 hour') AS "hourOld",
       count(*) FILTER (WHERE since <= clock_timestamp() - interval '1 day') AS "dayOld"
     FROM (${OPEN_PAYMENTS_SQL}) p GROUP BY direction, state ORDER BY direction, state`,
  )
  return rows
}

const TOP_COUNT = 10
const TREASURY = walletOf('treasury')

/** Amounts signed for sellers on one day, largest first. Microdollars. */
export interface OutflowToday {
  /** UTC: `2026-11-21`. */
  readonly day: string
  readonly platform: bigint
  readonly hosts: readonly { readonly host: string; readonly amount: bigint }[]
  readonly keys: readonly { readonly key: string; readonly amount: bigint }[]
}

/** Reads the amounts that count against the caps of the current UTC day. */
export async function readOutflowToday(pool: Pool): Promise<OutflowToday> {
  const { rows } = await pool.query<{ kind: string; name: string; amount: bigint; day: string }>(
    `WITH today AS (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS day),
       counted AS (
         SELECT split_part(o.scope, ':', 1) AS kind, o.scope, o.amount,
           row_number() OVER (PARTITION BY split_part(o.scope, ':', 1)
             ORDER BY o.amount DESC, o.scope) AS place
         FROM hub.outflow o JOIN today USING (day) WHERE o.amount > 0)
     SELECT today.day, c.kind, c.amount,
       coalesce(split_part(a.code, ':', 3), substr(c.scope, strpos(c.scope, ':') + 1)) AS name
     FROM today LEFT JOIN counted c ON c.place <= $1
     LEFT JOIN ledger.account a ON c.kind = 'key' AND c.scope = 'key:' || a.id
     ORDER BY c.kind, c.place`,
    [TOP_COUNT],
  )
  const of = (kind: string) => rows.filter((row) => row.kind === kind)
  return {
    day: rows[0]!.day,
    platform: of('platform')[0]?.amount ?? 0n,
    hosts: of('host').map(({ name: host, amount }) => ({ host, amount })),
    keys: of('key').map(({ name: key, amount }) => ({ key, amount })),
  }
}

/** Outcomes of payments to one seller. */
export interface SellerRecord {
  /** Origin and path of the URL. */
  readonly seller: string
  readonly signed: bigint
  readonly taken: bigint
  readonly delivered: bigint
  readonly open: bigint
  readonly lastAt: Date
}

/** Lists sellers that took money without delivering, worst first. */
export async function listWorstSellers(pool: Pool): Promise<readonly SellerRecord[]> {
  const { rows } = await pool.query<SellerRecord>(
    `SELECT seller, signed, taken, delivered, open, last_at AS "lastAt" FROM hub.seller_record
     WHERE taken > delivered ORDER BY taken - delivered DESC, last_at DESC LIMIT $1`,
    [TOP_COUNT],
  )
  return rows
}

/** Ledger balances of the platform wallets, in microdollars; gas in gwei. */
export interface LedgerBalances {
  /** Received amounts, final and in transit. */
  readonly treasury: bigint
  /** The part of `treasury` that is not final. */
  readonly received: bigint
  readonly spend: bigint
  /** Signed for sellers and providers and not yet posted out of the spend wallet. */
  readonly signed: bigint
  readonly gas: bigint
  /** Unresolved differences found by reconciliation. */
  readonly exceptions: { readonly treasury: bigint; readonly spend: bigint }
}

/** Reads the balances of accounts, debit-positive. */
async function readHeld(pool: Pool, codes: readonly string[]): Promise<(code: string) => bigint> {
  const { rows } = await pool.query<{ code: string; amount: bigint }>(
    `SELECT a.code, -sum(b.balance)::bigint AS amount
     FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
     WHERE a.code = ANY ($1) GROUP BY a.code`,
    [codes],
  )
  return (code) => rows.find((each) => each.code === code)?.amount ?? 0n
}

/** Treasury on a further network, in microdollars. */
export interface LedgerTreasury {
  /** Received amounts, final and in transit. */
  readonly ledger: bigint
  /** The part that is not final. */
  readonly received: bigint
  /** Unresolved differences found by reconciliation. */
  readonly exceptions: bigint
}

export async function readLedgerTreasury(
  pool: Pool,
  network: NetworkName,
): Promise<LedgerTreasury> {
  const received = walletOf('in-transit', network)
  const [amountOf, { rows }] = await Promise.all([
    readHeld(pool, [received, walletOf('treasury', network)]),
    pool.query<{ exceptions: bigint }>(
      `SELECT count(*) AS exceptions FROM hub.reconciliation_exception
       WHERE wallet = 'treasury:' || $1 AND resolved_at IS NULL`,
      [network],
    ),
  ])
  const ledger = amountOf(received) + amountOf(walletOf('treasury', network))
  return { ledger, received: amountOf(received), exceptions: rows[0]!.exceptions }
}

export async function readLedgerBalances(pool: Pool): Promise<LedgerBalances> {
  const [amountOf, { rows }] = await Promise.all([
    readHeld(pool, [TREASURY, IN_TRANSIT, SPEND, GAS]),
    pool.query<{ signed: bigint; ofTreasury: bigint; ofSpend: bigint }>(
      `SELECT (SELECT coalesce(sum(amount), 0)::bigint FROM (
            SELECT amount FROM hub.payment_intent WHERE state IN (${OPEN_OUT})
            UNION ALL SELECT amount FROM hub.payout WHERE state = 'started') o) AS signed,
         count(*) FILTER (WHERE x.wallet = 'treasury') AS "ofTreasury",
         count(*) FILTER (WHERE x.wallet = 'spend') AS "ofSpend"
       FROM hub.reconciliation_exception x WHERE x.resolved_at IS NULL`,
    ),
  ])
  const { ofTreasury, ofSpend, signed } = rows[0]!
  const received = amountOf(IN_TRANSIT)
  return {
    treasury: amountOf(TREASURY) + received,
    received,
    spend: amountOf(SPEND),
    gas: amountOf(GAS),
    signed,
    exceptions: { treasury: ofTreasury, spend: ofSpend },
  }
}

/** Key figures of the ledger that are cheap to read. */
export interface LedgerFigures {
  /** Number of journal entries. */
  readonly entries: bigint
  /** Microdollars held for calls in flight. */
  readonly holds: bigint
}

export async function readLedgerFigures(pool: Pool): Promise<LedgerFigures> {
  const { rows } = await pool.query<LedgerFigures>(
    `SELECT (SELECT coalesce(sum(seq), 0)::bigint FROM ledger.head) AS entries,
       (SELECT coalesce(sum(b.balance), 0)::bigint FROM ledger.balance b
        JOIN ledger.account a ON a.id = b.account WHERE a.code = $1) AS holds`,
    ['liabilities:holds'],
  )
  return rows[0]!
}
