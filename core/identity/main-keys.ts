import type { ClientBase, Pool, PoolClient } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import { type CreditsPlace, readBalances } from '../ledger/account-balances.ts'
import type { Account } from '../ledger/events.ts'
import type { AccountRef, Ledger } from '../ledger/ledger.ts'
import { creditsOf } from '../ledger/postings.ts'
import { readShards } from '../ledger/shards.ts'
import { issueSecret, type NewKey } from './secret.ts'

export interface Principal {
  readonly id: string
  readonly shard: number
}

export interface MainKeyOptions {
  readonly name?: string | null
  readonly expiresAt?: Date | null
  /** True if the wallet signed for this key. */
  readonly signed?: boolean
}

/** Maximum per principal, including revoked keys, whose ledger accounts remain. */
const MAIN_KEYS_MAX = 1_000

/**
 * Creates a main key: a key with credits of its own.
 * @param guard runs in the transaction of the insert; if it throws, no key is created
 * @throws Fault `key_limit_reached` if the principal has too many
 */
export async function createMainKey(
  pool: Pool,
  ledger: Ledger,
  { id, shard }: Principal,
  { name = null, expiresAt = null, signed = false }: MainKeyOptions = {},
  guard: (client: PoolClient) => Promise<void> = async () => {},
): Promise<NewKey> {
  const keyId = prefixedId('key')
  const credits = await ledger.open(creditsOf(keyId), 'USDC', { home: shard })
  return inTransaction(pool, async (client) => {
    await guard(client)
    const { rowCount } = await client.query(
      `INSERT INTO hub.api_key (id, principal, credits, name, expires_at, signed_at)
       SELECT $1, $2, $3, $4, $5, CASE WHEN $7 THEN now() END
       WHERE $6 > (SELECT count(*) FROM hub.api_key WHERE principal = $2 AND parent IS NULL)`,
      [keyId, id, credits.id, name, expiresAt, MAIN_KEYS_MAX, signed],
    )
    if (rowCount !== 1) throw mainKeyLimitReached()
    return issueSecret(client, keyId)
  })
}

const mainKeyLimitReached = (): Fault =>
  new Fault(
    'key_limit_reached',
    `A wallet or account can have at most ${MAIN_KEYS_MAX} main keys.`,
    {
      extras: { scope: 'roots' },
      advice: 'Use a key that exists, or another wallet. Revoked keys count too.',
    },
  )

/** Returns true if the wallet of a key signed for it at most so many minutes ago. */
export async function isFreshlySigned(
  pool: Pool,
  keyId: string,
  minutes: number,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `SELECT FROM hub.api_key WHERE id = $1 AND signed_at > now() - make_interval(mins => $2)`,
    [keyId, minutes],
  )
  return rowCount === 1
}

/** Returns the principal of a wallet; creates it if new. @param wallet lower case */
export async function findOrCreatePrincipal(
  pool: Pool | ClientBase,
  wallet: string,
): Promise<Principal> {
  const shards = await readShards(pool)
  await pool.query(
    `INSERT INTO hub.principal (id, wallet_address, shard)
     VALUES ($1, $2, (hashtext($2) & 2147483647) % $3::bigint)
     ON CONFLICT (wallet_address) DO NOTHING`,
    [prefixedId('prn'), wallet, shards.length],
  )
  const { rows } = await pool.query<Principal>(
    'SELECT id, shard FROM hub.principal WHERE wallet_address = $1',
    [wallet],
  )
  return rows[0]!
}

/** SQL of the id of the oldest usable main key of a wallet. @param wallet SQL of its address */
export const oldestMainKey = (wallet: string): string => `
  SELECT k.id FROM hub.api_key k JOIN hub.principal p ON p.id = k.principal
  WHERE p.wallet_address = ${wallet} AND k.parent IS NULL AND k.credits IS NOT NULL
    AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
  ORDER BY k.created_at, k.id LIMIT 1`

/** Key that holds credits. */
export interface MainKey {
  readonly id: string
  readonly name: string | null
  /** Null for a person's key. */
  readonly wallet: string | null
  /** Credits, in microdollars. */
  readonly balance: bigint
  readonly revoked: boolean
  readonly frozen: boolean
}

/** Lists main keys of principals, including revoked ones, oldest first. */
export async function listMainKeys(
  pool: Pool,
  principals: readonly string[],
): Promise<readonly MainKey[]> {
  const { rows } = await pool.query<Omit<MainKey, 'balance'> & CreditsPlace>(
    `SELECT k.id, k.name, p.wallet_address AS wallet, k.credits, p.shard,
       k.revoked_at IS NOT NULL AS revoked, k.frozen_at IS NOT NULL AS frozen
     FROM hub.api_key k JOIN hub.principal p ON p.id = k.principal
     WHERE k.principal = ANY ($1) AND k.parent IS NULL AND k.credits IS NOT NULL
     ORDER BY k.created_at, k.id LIMIT $2`,
    [principals, MAIN_KEYS_MAX],
  )
  const balances = await readBalances(pool, rows)
  return rows.map(({ id, name, wallet, revoked, frozen, credits }) => ({
    id,
    name,
    wallet,
    revoked,
    frozen,
    balance: balances.get(credits) ?? 0n,
  }))
}

export interface MainKeyTotals {
  readonly count: number
  /** Total in microdollars. */
  readonly credits: bigint
  /** Id of one of them; null if there is none. */
  readonly keyId: string | null
}

const MAIN_KEY_PLACES_SQL = `
  SELECT k.id, k.credits, p.shard
  FROM hub.api_key k JOIN hub.principal p ON p.id = k.principal
  WHERE k.principal = ANY ($1) AND k.parent IS NULL AND k.revoked_at IS NULL
    AND k.credits IS NOT NULL ORDER BY k.id COLLATE "C"`

/** Counts the main keys of principals that are not revoked, and sums their credits. */
export async function sumMainKeys(
  pool: Pool,
  principals: readonly string[],
): Promise<MainKeyTotals> {
  const { rows } = await pool.query<CreditsPlace & { id: string }>({
    name: 'main-keys.places',
    text: MAIN_KEY_PLACES_SQL,
    values: [principals],
  })
  const balances = [...(await readBalances(pool, rows)).values()]
  return {
    count: rows.length,
    credits: balances.reduce((sum, each) => sum + each, 0n),
    keyId: rows[0]?.id ?? null,
  }
}

/** Key with the account of the credits that it spends. */
export interface KeyCredits {
  readonly keyId: string
  readonly credits: AccountRef
}

/** Finds the credits account of a usable key by its id; undefined if there is none. */
export async function findKeyCredits(pool: Pool, keyId: string): Promise<KeyCredits | undefined> {
  const { rows } = await pool.query<{ credits: bigint; code: Account; shard: number }>(
    `SELECT k.credits, a.code, p.shard FROM hub.api_key k
       JOIN hub.principal p ON p.id = k.principal JOIN ledger.account a ON a.id = k.credits
     WHERE k.id = $1 AND k.revoked_at IS NULL AND k.frozen_at IS NULL
       AND (k.expires_at IS NULL OR k.expires_at > now())`,
    [keyId],
  )
  const [row] = rows
  if (!row) return undefined
  return { keyId, credits: { id: row.credits, code: row.code, asset: 'USDC', shard: row.shard } }
}
