import type { ClientBase } from 'pg'
import type { Hex } from '../payments/chain/asset.ts'
import type { TransferLog } from '../payments/chain/transfer-logs.ts'
import type { GoneTransfer, OpenEntry, OpenTransfer, TransitItem, WalletName } from './types.ts'

/** What was read of the chain about one wallet. */
export interface ChainReading {
  readonly wallet: WalletName
  readonly address: Hex
  readonly from: bigint
  readonly to: bigint
  readonly transfers: readonly TransferLog[]
}

/**
 * Keeps the transfers of a range, and marks those gone that were in it before and are not any more.
 * @param rest whether all that lies behind the range has to be read again as well
 */
export async function storeTransfers(
  client: ClientBase,
  { wallet, address, from, to, transfers }: ChainReading,
  rest: boolean,
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
    [wallet, from, to, rest, column(({ blockHash }) => blockHash), column((log) => log.logIndex)],
  )
}

/** Neither matched nor decided on by a person, who then has accounted for it. */
const IS_OPEN_TRANSFER = `t.wallet = $1 AND t.entry IS NULL AND t.gone_at IS NULL
  AND NOT EXISTS (SELECT FROM hub.reconciliation_exception x WHERE x.transfer = t.id
    AND x.resolution IN ('booked', 'explained'))`
const IS_OPEN_ENTRY = `e.wallet = $1 AND e.amount <> 0 AND e.answers IS NULL
  AND NOT e.matched
  AND NOT EXISTS (SELECT FROM hub.reconciliation_exception x WHERE x.entry = e.id
    AND x.resolution IN ('booked', 'explained'))`

/**
 * Ties transfers to entries of the same transaction and amount, one to one, in the order of both:
 * first the entries that name a payer, who must have sent it, then the others.
 * @returns how many were tied
 */
export async function matchTransfers(client: ClientBase, wallet: WalletName): Promise<number> {
  const named = await client.query(matchStatement('e.payer IS NOT NULL', 'sender'), [wallet])
  const others = await client.query(matchStatement('e.payer IS NULL', 'NULL'), [wallet])
  return (named.rowCount ?? 0) + (others.rowCount ?? 0)
}

const matchStatement = (entries: string, party: 'sender' | 'NULL'): string => `
  WITH books AS (
    SELECT e.id, e.tx, e.amount, e.payer,
      row_number() OVER (PARTITION BY e.tx, e.amount, e.payer ORDER BY e.id) AS n
    FROM hub.wallet_entry e
    WHERE ${IS_OPEN_ENTRY} AND e.event <> 'balance.opened' AND ${entries}
  ), chain AS (
    SELECT t.id, t.tx, t.amount, ${party} AS payer,
      row_number() OVER (PARTITION BY t.tx, t.amount, ${party} ORDER BY t.block, t.log_index) AS n
    FROM hub.transfer t WHERE ${IS_OPEN_TRANSFER}
  ), tied AS (
    UPDATE hub.transfer t SET entry = books.id
    FROM books JOIN chain ON chain.tx = books.tx AND chain.amount = books.amount
      AND chain.n = books.n
      AND chain.payer IS NOT DISTINCT FROM books.payer
    WHERE t.id = chain.id RETURNING t.entry
  )
  UPDATE hub.wallet_entry e SET matched = true FROM tied WHERE e.id = tied.entry`

/** What is left on both sides when all that fits is matched. */
export interface UnmatchedItems {
  readonly transfers: readonly OpenTransfer[]
  readonly entries: readonly OpenEntry[]
  readonly gone: readonly GoneTransfer[]
  readonly transit: readonly TransitItem[]
}

/** @param atWork as it was before the books were read */
export async function readUnmatched(
  client: ClientBase,
  wallet: WalletName,
  atWork: readonly PendingPayment[],
): Promise<UnmatchedItems> {
  const payments = [
    atWork.map(({ id }) => id),
    atWork.map(({ other }) => other),
    atWork.map(({ amount }) => amount),
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

/** A payment whose outcome, or whose booking, is open. */
interface PendingPayment {
  /** Of the entry that it will have. */
  readonly id: string
  /** Who pays us, or is paid. */
  readonly other: string
  /** Received above zero, paid below. */
  readonly amount: bigint
}

/**
 * The payments that are at work. Read after the chain, since each is known here before anything of
 * it reaches the chain, and before the books, so that one which ends meanwhile is in either.
 * @param since those that were begun before are no explanation any more
 */
export async function readPendingPayments(
  client: ClientBase,
  wallet: WalletName,
  since: Date,
): Promise<readonly PendingPayment[]> {
  const { rows } = await client.query<PendingPayment>(
    `SELECT id, payer AS other, amount FROM hub.payment_claim
       WHERE $1 = 'treasury' AND claimed_at >= $2 AND (state IN ('claimed', 'pending', 'settled')
         -- given up, and watched until it is dead: others may bring it
         OR state IN ('failed', 'released') AND now() < valid_before + interval '2 minutes')
     UNION ALL
     SELECT call, lower(payee), -amount FROM hub.payment_intent
       WHERE $1 = 'spend' AND created_at >= $2 AND state IN ('signed', 'unresolved', 'paid')
     UNION ALL
     SELECT id, payee, -amount FROM hub.payout
       WHERE $1 = 'spend' AND started_at >= $2 AND state = 'started'`,
    [wallet, since],
  )
  return rows
}

/** The other side of a transfer. */
const COUNTERPARTY = 'CASE WHEN t.amount > 0 THEN t.sender ELSE t.recipient END::text'

/** A payment at work explains one transfer of its amount and party: of several, the first. */
const OPEN_TRANSFERS = `
  WITH at_work AS (
    SELECT p.*, row_number() OVER (PARTITION BY p.other, p.amount ORDER BY p.id) AS n
    FROM unnest($2::uuid[], $3::text[], $4::bigint[]) p(id, other, amount)
    WHERE NOT EXISTS (SELECT FROM hub.wallet_entry e WHERE e.entry = p.id AND e.matched)
  ), open AS (
    SELECT t.*, ${COUNTERPARTY} AS other,
      row_number() OVER (PARTITION BY ${COUNTERPARTY}, t.amount ORDER BY t.block, t.log_index) AS n
    FROM hub.transfer t WHERE ${IS_OPEN_TRANSFER}
  )
  SELECT t.id, t.tx, t.block, t.sender, t.recipient, t.amount, p.id AS awaits
  FROM open t LEFT JOIN at_work p ON p.other = t.other AND p.amount = t.amount AND p.n = t.n
  ORDER BY t.block, t.log_index, t.amount`

const OPEN_ENTRIES = `
  SELECT e.id, e.event, e.entry, e.amount, e.tx, e.payer, e.opens_at AS "opensAt", e.at,
    (SELECT max(t.id) FROM hub.transfer t WHERE t.entry = e.id AND t.gone_at IS NOT NULL) AS gone,
    (SELECT min(other.entry::text) FROM hub.transfer t JOIN hub.wallet_entry other
      ON other.id = t.entry
     WHERE t.tx = e.tx AND t.wallet = e.wallet AND sign(t.amount) = sign(e.amount)
       AND t.gone_at IS NULL) AS "takenBy"
  FROM hub.wallet_entry e WHERE ${IS_OPEN_ENTRY} ORDER BY e.id`

/** Those whose exception was booked: their entry, if they had one, speaks for itself. */
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
