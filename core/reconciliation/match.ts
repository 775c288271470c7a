import type { ClientBase } from 'pg'
import type { Hex } from '../payments/chain/asset.ts'
import type { TransferLog } from '../payments/chain/transfer-logs.ts'
import type { GoneTransfer, OpenEntry, OpenTransfer, TransitItem, WalletName } from './types.ts'
import { networkReceivedBy } from './wallets.ts'

/** Transfers of one wallet read from a range of blocks. */
export interface ChainReading {
  readonly wallet: WalletName
  readonly address: Hex
  readonly from: bigint
  readonly to: bigint
  readonly transfers: readonly TransferLog[]
}

/**
 * Stores the transfers of a range and marks those as gone that are no longer in it.
 * @param isOpenEnded true to mark transfers after the range too; they are read again later
 */
export async function storeTransfers(
  client: ClientBase,
  { wallet, address, from, to, transfers }: ChainReading,
  isOpenEnded: boolean,
): Promise<void> {
  const sides = transfers.flatMap((log) => [
    ...(log.to === address ? [{ log, amount: log.value }] : []),
    ...(log.from === address ? [{ log, amount: -log.value }] : []),
  ])
  const column = <T>(of: (log: TransferLog) => T): T[] => sides.map(({ log }) => of(log))
  await client.query(
    `INSERT INTO hub.transfer AS t (wallet, tx, log_index, block, block_hash, sender, recipient,
      amount)
     SELECT $1, u.* FROM unnest($2::text[], $3::integer[], $4::bigint[], $5::text[], $6::text[],
       $7::text[], $8::bigint[]) u
     ON CONFLICT (block_hash, log_index, amount) DO UPDATE SET gone_at = NULL, entry = NULL
       WHERE t.gone_at IS NOT NULL`,
    [
      wallet,
      column(({ tx }) => tx),
      column(({ logIndex }) => logIndex),
      column(({ block }) => block),
      column(({ blockHash }) => blockHash),
      column(({ from }) => from),
      column((log) => log.to),
      sides.map(({ amount }) => amount),
    ],
  )
  await client.query(
    `WITH gone AS (
       UPDATE hub.transfer t SET gone_at = clock_timestamp()
       WHERE t.wallet = $1 AND t.gone_at IS NULL AND t.block >= $2 AND (t.block <= $3 OR $4)
         AND NOT EXISTS (SELECT FROM unnest($5::text[], $6::integer[]) u(block_hash, log_index)
           WHERE u.block_hash = t.block_hash AND u.log_index = t.log_index)
       RETURNING t.entry
     )
     UPDATE hub.wallet_entry e SET matched = false FROM gone WHERE e.id = gone.entry`,
    [wallet, from, to, isOpenEnded, column((log) => log.blockHash), column((log) => log.logIndex)],
  )
}

/** Condition: neither matched nor resolved by a person. */
const IS_OPEN_TRANSFER = `t.wallet = $1 AND t.entry IS NULL AND t.gone_at IS NULL
  AND NOT EXISTS (SELECT FROM hub.reconciliation_exception x WHERE x.transfer = t.id
    AND x.resolution IN ('booked', 'explained'))`
const IS_OPEN_ENTRY = `e.wallet = $1 AND e.amount <> 0 AND e.answers IS NULL
  AND NOT e.matched
  AND NOT EXISTS (SELECT FROM hub.reconciliation_exception x WHERE x.entry = e.id
    AND x.resolution IN ('booked', 'explained'))`

/** Matches transfers one to one with entries: transaction, amount, payer. @returns how many */
export async function matchTransfers(client: ClientBase, wallet: WalletName): Promise<number> {
  const named = await client.query(matchStatement('e.payer IS NOT NULL', 'sender'), [wallet])
  const others = await client.query(matchStatement('e.payer IS NULL', 'NULL'), [wallet])
  return (named.rowCount ?? 0) + (others.rowCount ?? 0)
}

const matchStatement = (entries: string, party: 'sender' | 'NULL'): string => `
  WITH entries AS (
    SELECT e.id, e.tx, e.amount, e.payer,
      row_number() OVER (PARTITION BY e.tx, e.amount, e.payer ORDER BY e.id) AS n
    FROM hub.wallet_entry e
    WHERE ${IS_OPEN_ENTRY} AND e.event <> 'balance.opened' AND ${entries}
  ), chain AS (
    SELECT t.id, t.tx, t.amount, ${party} AS payer,
      row_number() OVER (PARTITION BY t.tx, t.amount, ${party} ORDER BY t.block, t.log_index) AS n
    FROM hub.transfer t WHERE ${IS_OPEN_TRANSFER}
  ), matched AS (
    UPDATE hub.transfer t SET entry = entries.id
    FROM entries JOIN chain ON chain.tx = entries.tx AND chain.amount = entries.amount
      AND chain.n = entries.n
      AND chain.payer IS NOT DISTINCT FROM entries.payer
    WHERE t.id = chain.id RETURNING t.entry
  )
  UPDATE hub.wallet_entry e SET matched = true FROM matched m WHERE e.id = m.entry`

/** Items of chain and ledger that remain after matching. */
export interface UnmatchedItems {
  readonly transfers: readonly OpenTransfer[]
  readonly entries: readonly OpenEntry[]
  readonly gone: readonly GoneTransfer[]
  readonly transit: readonly TransitItem[]
}

/** @param pendingPayments state before the ledger was read */
export async function readUnmatched(
  client: ClientBase,
  wallet: WalletName,
  pendingPayments: readonly PendingPayment[],
): Promise<UnmatchedItems> {
  const payments = [
    pendingPayments.map(({ id }) => id),
    pendingPayments.map(({ other }) => other),
    pendingPayments.map(({ amount }) => amount),
    pendingPayments.map(({ isMaximum }) => isMaximum),
  ]
  const [transfers, entries, gone, transit] = [
    await client.query<OpenTransfer>(OPEN_TRANSFERS, [wallet, ...payments]),
    await client.query<OpenEntry>(OPEN_ENTRIES, [wallet]),
    await client.query<GoneTransfer>(GONE_TRANSFERS, [wallet]),
    await client.query<TransitItem>(TRANSIT_ITEMS, [wallet]),
  ]
  return {
    transfers: transfers.rows,
    entries: entries.rows,
    gone: gone.rows,
    transit: transit.rows,
  }
}

/** A payment whose outcome is unknown or not posted yet. */
interface PendingPayment {
  /** Id of its future entry. */
  readonly id: string
  /** Address of the counterparty. */
  readonly other: string
  /** Positive if received, negative if sent. */
  readonly amount: bigint
  /** True if `amount` is a maximum of which less may be taken. */
  readonly isMaximum: boolean
}

/**
 * Reads the pending payments. Called after reading the chain because payments are stored before
 * they reach the chain, and before reading the ledger so that a payment that completes meanwhile is
 * in one of the two.
 * @param since payments started earlier no longer explain a transfer
 */
export async function readPendingPayments(
  client: ClientBase,
  wallet: WalletName,
  since: Date,
): Promise<readonly PendingPayment[]> {
  const { rows } = await client.query<PendingPayment>(
    `SELECT id, payer AS other, amount, false AS "isMaximum" FROM hub.payment_claim
       WHERE network = $3 AND claimed_at >= $2 AND (state IN ('claimed', 'pending', 'settled')
         -- abandoned, but others may still submit it until it expires
         OR state IN ('failed', 'released') AND now() < valid_before + interval '2 minutes')
     UNION ALL
     SELECT call, lower(payee), -amount, authorized IS NOT NULL AND state <> 'paid'
       FROM hub.payment_intent
       WHERE $1 = 'spend' AND created_at >= $2 AND state IN ('signed', 'unresolved', 'paid')
     UNION ALL
     SELECT id, payee, -amount, false FROM hub.payout
       WHERE $1 = 'spend' AND started_at >= $2 AND state = 'started'`,
    [wallet, since, networkReceivedBy(wallet) ?? null],
  )
  return rows
}

/** Counterparty of a transfer. */
const COUNTERPARTY = 'CASE WHEN t.amount > 0 THEN t.sender ELSE t.recipient END::text'

/**
 * A pending payment explains the first unmatched transfer of its amount and counterparty; one of a
 * maximum, while it is pending, those of less too.
 */
const OPEN_TRANSFERS = `
  WITH pending AS (
    SELECT p.*, row_number() OVER (PARTITION BY p.other, p.amount ORDER BY p.id) AS n
    FROM unnest($2::uuid[], $3::text[], $4::bigint[], $5::boolean[])
      p(id, other, amount, is_maximum)
    WHERE NOT EXISTS (SELECT FROM hub.wallet_entry e WHERE e.entry = p.id AND e.matched)
  ), open AS (
    SELECT t.*, ${COUNTERPARTY} AS other,
      row_number() OVER (PARTITION BY ${COUNTERPARTY}, t.amount ORDER BY t.block, t.log_index) AS n
    FROM hub.transfer t WHERE ${IS_OPEN_TRANSFER}
  )
  SELECT t.id, t.tx, t.block, t.sender, t.recipient, t.amount,
    coalesce(p.id, (SELECT min(m.id::text)::uuid FROM pending m
      WHERE m.is_maximum AND m.other = t.other AND t.amount BETWEEN m.amount AND -1)) AS awaits
  FROM open t LEFT JOIN pending p ON p.other = t.other AND p.amount = t.amount AND p.n = t.n
  ORDER BY t.block, t.log_index, t.amount`

const OPEN_ENTRIES = `
  SELECT e.id, e.event, e.entry, e.amount, e.tx, e.payer, e.opens_at AS "opensAt", e.at,
    (SELECT max(t.id) FROM hub.transfer t WHERE t.entry = e.id AND t.gone_at IS NOT NULL) AS gone,
    (SELECT min(other.entry::text) FROM hub.transfer t JOIN hub.wallet_entry other
      ON other.id = t.entry
     WHERE t.tx = e.tx AND t.wallet = e.wallet AND sign(t.amount) = sign(e.amount)
       AND t.gone_at IS NULL) AS "takenBy"
  FROM hub.wallet_entry e WHERE ${IS_OPEN_ENTRY} ORDER BY e.id`

/** Removed transfers whose exception was posted; a matched entry is reported by itself. */
const GONE_TRANSFERS = `
  SELECT t.id, t.tx, t.block, t.amount FROM hub.transfer t
  JOIN hub.reconciliation_exception x ON x.transfer = t.id AND x.resolution = 'booked'
    AND x.kind <> 'reorganised'
  WHERE t.wallet = $1 AND t.gone_at IS NOT NULL AND NOT EXISTS (
    SELECT FROM hub.reconciliation_exception o WHERE o.transfer = t.id AND o.kind = 'reorganised'
      AND o.resolution IN ('booked', 'explained'))
  ORDER BY t.id`

const TRANSIT_ITEMS = `
  SELECT e.entry, sum(e.transit)::bigint AS amount,
    coalesce(-sum(e.transit) FILTER (WHERE e.transit < 0), 0)::bigint AS confirmed,
    max(e.id) AS row, max(e.tx) AS tx, min(e.at) AS since
  FROM hub.wallet_entry e
  WHERE e.wallet = $1 AND e.transit <> 0 AND e.answers IS NULL AND NOT EXISTS (
    SELECT FROM hub.wallet_entry of JOIN hub.reconciliation_exception x ON x.entry = of.id
    WHERE of.entry = e.entry AND x.resolution IN ('booked', 'explained'))
  GROUP BY e.entry ORDER BY e.entry`
