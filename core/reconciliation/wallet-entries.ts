import type { ClientBase } from 'pg'
import type { WalletName } from './types.ts'
import { walletOfAccount } from './wallets.ts'

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
  const { rows } = await client.query<{
    shard: number
    head: bigint
    account: bigint | null
    balance: bigint | null
  }>(
    `SELECT h.shard, h.seq AS head, b.account, -b.balance AS balance
     FROM ledger.head h LEFT JOIN ledger.balance b ON b.shard = h.shard AND b.account = ANY ($1)
     ORDER BY h.shard`,
    [accounts.map(({ id }) => id)],
  )
  const balances = new Map<WalletName, bigint>(accounts.map(({ wallet }) => [wallet, 0n]))
  const walletNames = new Map(accounts.map(({ id, wallet }) => [id, wallet]))
  for (const { account, balance } of rows) {
    const wallet = account === null ? undefined : walletNames.get(account)
    if (wallet) balances.set(wallet, balances.get(wallet)! + (balance ?? 0n))
  }
  const known = await findWalletAccounts(client) // after the heads: all that their entries have
  for (const [shard, head] of new Map(rows.map((row) => [row.shard, row.head]))) {
    await copyEntries(client, { shard, from: cursors.get(shard) ?? 0n, head }, known)
  }
  await linkEntries(client)
  return balances
}

async function copyEntries(
  client: ClientBase,
  { shard, from, head }: { readonly shard: number; readonly from: bigint; readonly head: bigint },
  accounts: readonly WalletAccount[],
): Promise<void> {
  for (let low = from; low < head; low += SLICE) {
    await client.query(COPY_ENTRIES, [
      shard,
      low,
      low + SLICE < head ? low + SLICE : head,
      accounts.map(({ id }) => id),
      accounts.map(({ wallet }) => wallet),
      accounts.filter(({ isTransit }) => isTransit).map(({ id }) => id),
    ])
  }
  await client.query(
    `INSERT INTO hub.cursor VALUES ($1, $2, $3)
     ON CONFLICT (name, shard) DO UPDATE SET seq = excluded.seq`,
    [CURSOR, shard, head],
  )
}

/** Account of a wallet; funds in transit are already in the treasury on chain. */
interface WalletAccount {
  readonly id: bigint
  readonly wallet: WalletName
  readonly isTransit: boolean
}

async function findWalletAccounts(client: ClientBase): Promise<readonly WalletAccount[]> {
  const { rows } = await client.query<{ id: bigint; code: string }>(
    "SELECT id, code FROM ledger.account WHERE code LIKE 'assets:usdc:%' ORDER BY id",
  )
  return rows.map(({ id, code }) => ({
    id,
    wallet: walletOfAccount(code),
    isTransit: code.endsWith(':in-transit'),
  }))
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
    SELECT ($5::text[])[array_position($4::bigint[], u.account)] AS wallet,
      -sum(u.amount)::bigint AS amount,
      coalesce(-sum(u.amount) FILTER (WHERE u.account = ANY ($6::bigint[])), 0)::bigint AS transit
    FROM unnest(j.accounts, j.amounts) u(account, amount)
    WHERE u.account = ANY ($4::bigint[]) GROUP BY 1) m
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
  // The entry of several deposits resolves exceptions that add up to it.
  await client.query(
    `UPDATE hub.wallet_entry e SET matched = true
     WHERE e.event = 'surplus.found' AND e.amount <> 0 AND NOT e.matched AND e.answers IS NULL
       AND e.exception IS NULL AND e.amount = (SELECT sum(x.amount)
         FROM hub.reconciliation_exception x WHERE x.answer = e.owner AND x.answer_id = e.entry
           AND x.wallet = e.wallet)`,
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
