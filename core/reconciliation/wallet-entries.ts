import type { ClientBase } from 'pg'
import type { WalletName } from './types.ts'

/** Journal entries read by one statement. */
const SLICE = 100_000n
const CURSOR = 'reconcile-chain'

/** Lower kinds are steps of a call, which do not change wallets. */
const FIRST_SINGLE_STEP_KIND = 16

/**
 * Copies the journal entries that changed a wallet since the last run to `hub.wallet_entry`, then
 * links related entries: receipts with their confirmations, and exceptions with the entries that
 * resolve them.
 * @returns the ledger balance of each wallet in microdollars, as of the last entry copied
 */
export async function syncEntries(client: ClientBase): Promise<ReadonlyMap<WalletName, bigint>> {
  const cursors = await readCursors(client)
  const accounts = await findWalletAccounts(client)
  // One statement: heads and balances are of the same instant.
  const { rows: shards } = await client.query<{
    shard: number
    head: bigint
    treasury: bigint
    spend: bigint
  }>(
    `SELECT h.shard, h.seq AS head,
       coalesce(-sum(b.balance) FILTER (WHERE b.account = ANY ($1)), 0)::bigint AS treasury,
       coalesce(-sum(b.balance) FILTER (WHERE b.account = ANY ($2)), 0)::bigint AS spend
     FROM ledger.head h LEFT JOIN ledger.balance b ON b.shard = h.shard
       AND b.account = ANY ($1::bigint[] || $2::bigint[])
     GROUP BY h.shard, h.seq ORDER BY h.shard`,
    [accounts.treasury, accounts.spend],
  )
  const balances = new Map<WalletName, bigint>([
    ['treasury', 0n],
    ['spend', 0n],
  ])
  for (const { shard, head, treasury, spend } of shards) {
    const from = cursors.get(shard) ?? 0n
    balances.set('treasury', balances.get('treasury')! + treasury)
    balances.set('spend', balances.get('spend')! + spend)
    for (let low = from; low < head; low += SLICE) {
      const high = low + SLICE < head ? low + SLICE : head
      await client.query(COPY_ENTRIES, [
        shard,
        low,
        high,
        accounts.treasury,
        accounts.spend,
        accounts.transit,
      ])
    }
    await client.query(
      `INSERT INTO hub.cursor VALUES ($1, $2, $3)
       ON CONFLICT (name, shard) DO UPDATE SET seq = excluded.seq`,
      [CURSOR, shard, head],
    )
  }
  await linkEntries(client)
  return balances
}

/** Accounts of each wallet: funds in transit are already in the treasury on chain. */
const WALLET_ACCOUNTS = `
  SELECT array_agg(id) FILTER (WHERE code <> 'assets:usdc:base:spend') AS treasury,
    array_agg(id) FILTER (WHERE code = 'assets:usdc:base:spend') AS spend,
    array_agg(id) FILTER (WHERE code = 'assets:usdc:base:in-transit') AS transit
  FROM ledger.account
  WHERE code IN ('assets:usdc:base:treasury', 'assets:usdc:base:in-transit',
    'assets:usdc:base:spend')`

type WalletAccounts = Readonly<Record<'treasury' | 'spend' | 'transit', readonly bigint[]>>

async function findWalletAccounts(client: ClientBase): Promise<WalletAccounts> {
  const { rows } = await client.query<WalletAccounts>(WALLET_ACCOUNTS)
  return rows[0]!
}

/** Reads the last entry copied of each shard. */
async function readCursors(client: ClientBase): Promise<ReadonlyMap<number, bigint>> {
  const { rows } = await client.query<{ shard: number; seq: bigint }>(
    'SELECT shard, seq FROM hub.cursor WHERE name = $1',
    [CURSOR],
  )
  return new Map(rows.map(({ shard, seq }) => [shard, seq]))
}

/** Malformed hashes, addresses and numbers in `meta` become null. */
const COPY_ENTRIES = `
  INSERT INTO hub.wallet_entry (wallet, shard, seq, owner, entry, phase, event, amount, transit, tx,
    payer, opens_at, exception, at)
  SELECT m.wallet, j.shard, j.seq, j.owner, j.id, j.phase, k.event, m.amount, m.transit,
    substring(lower(coalesce(j.meta ->> 'tx', j.meta ->> 'transaction')) FROM '^0x[0-9a-f]{64}$'),
    substring(lower(j.meta ->> 'payer') FROM '^0x[0-9a-f]{40}$'),
    substring(j.meta ->> 'block' FROM '^[0-9]{1,18}$')::bigint,
    substring(j.meta ->> 'exception' FROM '^[0-9]{1,18}$')::bigint,
    j.at
  FROM ledger.journal j
  JOIN ledger.kind k ON k.id = j.kind
  CROSS JOIN LATERAL (
    SELECT CASE WHEN u.account = ANY ($5::bigint[]) THEN 'spend' ELSE 'treasury' END AS wallet,
      -sum(u.amount)::bigint AS amount,
      coalesce(-sum(u.amount) FILTER (WHERE u.account = ANY ($6::bigint[])), 0)::bigint AS transit
    FROM unnest(j.accounts, j.amounts) u(account, amount)
    WHERE u.account = ANY ($4::bigint[] || $5::bigint[]) GROUP BY 1) m
  WHERE j.shard = $1 AND j.seq > $2 AND j.seq <= $3 AND j.kind >= ${FIRST_SINGLE_STEP_KIND}
    AND (m.amount <> 0 OR m.transit <> 0)
  ORDER BY j.seq`

async function linkEntries(client: ClientBase): Promise<void> {
  // The transaction that the hub saw on chain overrides the one reported by the facilitator.
  await client.query(
    `UPDATE hub.wallet_entry e SET tx = c.tx FROM hub.wallet_entry c
     WHERE c.entry = e.entry AND c.wallet = e.wallet AND c.event = 'receipt.confirmed'
       AND c.transit <> 0 AND e.amount <> 0 AND e.tx IS DISTINCT FROM c.tx AND c.tx IS NOT NULL
       AND NOT EXISTS (SELECT FROM hub.transfer t WHERE t.entry = e.id)`,
  )
  await client.query(
    `UPDATE hub.wallet_entry e SET answers = x.id
     FROM (SELECT DISTINCT ON (x.id) x.id, e.id AS entry
       FROM hub.reconciliation_exception x
       JOIN hub.wallet_entry e ON e.exception = x.id AND e.wallet = x.wallet AND e.amount = x.amount
         AND e.event IN ('surplus.found', 'shortfall.found')
       LEFT JOIN hub.wallet_entry other ON other.answers = x.id
       WHERE other.id IS NULL AND (x.resolved_at IS NULL OR x.answer_id = e.entry)
       ORDER BY x.id, e.id) x
     WHERE e.id = x.entry`,
  )
  // Clears transit items that came in and left again: entries with the same id, or an entry and the
  // one that resolved its exception.
  await client.query(
    `UPDATE hub.wallet_entry e SET transit = 0
     FROM (SELECT array_agg(e.id) AS ids FROM hub.wallet_entry e
       LEFT JOIN hub.reconciliation_exception x ON x.id = e.answers
       LEFT JOIN hub.wallet_entry asked ON asked.id = x.entry
       WHERE e.transit <> 0 GROUP BY coalesce(asked.entry, e.entry), e.wallet
       HAVING sum(e.transit) = 0) done
     WHERE e.id = ANY (done.ids)`,
  )
}
