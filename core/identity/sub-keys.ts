import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import { readBalances, type ShardAccount } from '../ledger/account-balances.ts'
import type { Caller } from './keys.ts'
import { issueSecret, type NewKey } from './secret.ts'

/**
 * Ids of keys or principals that manage keys. A key manages itself and its sub-keys, a principal
 * all its keys. A signed-in person has the ids of the account and of every linked wallet.
 */
export type KeyManager = readonly string[]

/** Limits of a new sub-key. Amounts are microdollars; null: no limit of its own. */
export interface SubKeyOptions {
  readonly name: string | null
  readonly maxCall: bigint | null
  readonly maxDay: bigint | null
  readonly maxTotal: bigint | null
  readonly services: readonly string[] | null
  readonly expiresAt: Date | null
  /** True if it may see what its parent key sees of the main key. */
  readonly seesMainKey: boolean
}

export interface KeyInfo {
  readonly id: string
  readonly parent: string | null
  /** A provider key manages its principal's services and has no credits. */
  readonly role: 'agent' | 'provider'
  readonly name: string | null
  /** Null for a person's key. */
  readonly wallet_address: string | null
  readonly prefixes: readonly string[]
  readonly max_call: bigint | null
  readonly max_day: bigint | null
  readonly max_total: bigint | null
  readonly services: readonly string[] | null
  readonly expires_at: Date | null
  readonly sees_main_key: boolean
  readonly created_at: Date
  readonly used_at: Date | null
  readonly revoked_at: Date | null
  readonly frozen_at: Date | null
  readonly frozen_by: 'owner' | 'administrator' | null
  readonly frozen_reason: string | null
  /** Rest of its own limits today and in total; null without such a limit. */
  readonly day_left: bigint | null
  readonly total_left: bigint | null
  /** Credits of a main key, in microdollars; null for a sub-key. */
  readonly balance: bigint | null
}

const DEPTH_MAX = 4
const SUB_KEYS_MAX = 1_000
/** Keys of one main key, on all levels and including revoked ones: many queries read them all. */
const TREE_MAX = 10_000

/** Common table expression `family`: the keys managed by the ids in $1. */
export const MANAGED_KEYS = `WITH RECURSIVE family AS (
    SELECT * FROM hub.api_key
      WHERE id = ANY ($1) OR (principal = ANY ($1) AND parent IS NULL)
    UNION ALL
    SELECT k.* FROM family f JOIN hub.api_key k ON k.parent = f.id
  )`

/** Account of an allowance; null if it is not granted yet. */
const allowance = (limit: string, span: string) => `CASE WHEN ${limit} IS NOT NULL THEN
    (SELECT a.id FROM ledger.account a
      WHERE a.code = 'liabilities:allowances:' || f.id || ':' || ${span}) END`
const TODAY = `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')`

/** Row of a key with the accounts whose balances it shows. */
type KeyInfoRow = Omit<KeyInfo, 'day_left' | 'total_left' | 'balance'> & {
  readonly accounts: {
    readonly shard: number
    readonly day: number | null
    readonly total: number | null
    readonly credits: number | null
  }
}

/** Reads the balances that rows of keys show. An allowance not granted yet is left as a whole. */
async function withBalances(pool: Pool, rows: readonly KeyInfoRow[]): Promise<KeyInfo[]> {
  const places = rows.flatMap(({ accounts: { shard, day, total, credits } }) =>
    [day, total, credits].flatMap((id) => (id === null ? [] : [{ credits: BigInt(id), shard }])),
  )
  const balances = await readBalances(pool, places)
  const of = (id: number | null): bigint | undefined =>
    id === null ? undefined : balances.get(BigInt(id))
  return rows.map(({ accounts, ...row }) => ({
    ...row,
    day_left: row.max_day === null ? null : (of(accounts.day) ?? row.max_day),
    total_left: row.max_total === null ? null : (of(accounts.total) ?? row.max_total),
    balance: of(accounts.credits) ?? null,
  }))
}

/** Selects `KeyInfoRow` rows from `family`. */
const SELECT_KEY_INFO = `SELECT f.id, f.parent, f.role, f.name, f.max_call, f.max_day, f.max_total,
    f.services, f.expires_at, f.sees_main_key, f.created_at, f.used_at, f.revoked_at,
    f.frozen_at, f.frozen_by, f.frozen_reason, p.wallet_address,
    json_build_object('shard', p.shard, 'day', ${allowance('f.max_day', TODAY)},
      'total', ${allowance('f.max_total', "'total'")},
      'credits', CASE WHEN f.parent IS NULL THEN f.credits END) AS accounts,
    ARRAY(SELECT s.prefix FROM hub.key_secret s WHERE s.key = f.id
      AND (s.expires_at IS NULL OR s.expires_at > now()) ORDER BY s.created_at) AS prefixes
  FROM family f JOIN hub.principal p ON p.id = f.principal`

// Named, because planning them takes longer than reading the keys.

/** Lists managed keys, oldest first. */
export async function listKeys(
  pool: Pool,
  manager: KeyManager,
  limit: number,
  after: string | undefined,
): Promise<KeyInfo[]> {
  const { rows } = await pool.query<KeyInfoRow>({
    name: 'managed-keys.list',
    text: `${MANAGED_KEYS} ${SELECT_KEY_INFO}
     WHERE $3::text IS NULL OR (f.created_at, f.id) >
       (SELECT l.created_at, l.id FROM hub.api_key l WHERE l.id = $3)
     ORDER BY f.created_at, f.id LIMIT $2`,
    values: [manager, limit, after ?? null],
  })
  return withBalances(pool, rows)
}

/**
 * Lists the ids of a sub-key and of the keys below it, whose calls it may see. Undefined for a key
 * that may see everything that its credits pay.
 */
export async function findVisibleKeys(
  pool: Pool,
  { keyId, seesMainKey }: Pick<Caller, 'keyId' | 'seesMainKey'>,
): Promise<readonly string[] | undefined> {
  if (seesMainKey) return undefined
  const { rows } = await pool.query<{ id: string }>(`${MANAGED_KEYS} SELECT id FROM family`, [
    [keyId],
  ])
  return rows.map(({ id }) => id)
}

/** @throws Fault `not_found` if `manager` does not manage the key */
export async function findKey(pool: Pool, manager: KeyManager, keyId: string): Promise<KeyInfo> {
  const { rows } = await pool.query<KeyInfoRow>({
    name: 'managed-keys.find',
    text: `${MANAGED_KEYS} ${SELECT_KEY_INFO} WHERE f.id = $2`,
    values: [manager, keyId],
  })
  const [found] = await withBalances(pool, rows)
  if (!found) throw keyNotFound()
  return found
}

/**
 * Creates a sub-key. It spends the credits of its main key, within its own limits and those of
 * every key above it.
 * @throws Fault `key_limit_reached` if the tree is too deep or too large; `not_found` if `manager`
 *   does not manage the parent, or the parent is revoked
 */
export async function createSubKey(
  pool: Pool,
  manager: KeyManager,
  parent: string,
  order: SubKeyOptions,
): Promise<NewKey> {
  const keyId = prefixedId('key')
  return inTransaction(pool, async (client) => {
    const { rows: managed } = await client.query<{ credits: bigint }>(
      `SELECT credits FROM hub.api_key
       WHERE ${IS_MANAGED} AND revoked_at IS NULL AND role = 'agent'`,
      [manager, parent],
    )
    if (!managed[0]) throw keyNotFound()
    // Locked, so that concurrent inserts cannot exceed the limits of the tree.
    await client.query(
      'SELECT FROM hub.api_key WHERE credits = $1 AND parent IS NULL FOR NO KEY UPDATE',
      [managed[0].credits],
    )
    const { rowCount } = await client.query(
      `INSERT INTO hub.api_key (id, principal, parent, depth, credits, name, max_call, max_day,
         max_total, services, expires_at, sees_main_key)
       SELECT $2, p.principal, p.id, p.depth + 1, p.credits, $3, $4, $5, $6, $7, $8, $11
       FROM hub.api_key p WHERE p.id = $1 AND p.depth < $9
         AND (SELECT count(*) FROM hub.api_key c WHERE c.parent = p.id) < $10
         AND (WITH RECURSIVE tree AS (
             SELECT r.id FROM hub.api_key r WHERE r.credits = p.credits AND r.parent IS NULL
             UNION ALL SELECT k.id FROM tree t JOIN hub.api_key k ON k.parent = t.id)
           SELECT count(*) FROM tree) < $12`,
      [
        parent,
        keyId,
        order.name,
        order.maxCall,
        order.maxDay,
        order.maxTotal,
        order.services,
        order.expiresAt,
        DEPTH_MAX,
        SUB_KEYS_MAX,
        order.seesMainKey,
        TREE_MAX,
      ],
    )
    if (rowCount !== 1) {
      const detail =
        `Keys nest ${DEPTH_MAX} deep, with ${SUB_KEYS_MAX} sub-keys per key and ${TREE_MAX} keys ` +
        'per main key.'
      const advice = 'Use another parent key, or a key that exists. Revoked keys count too.'
      throw new Fault('key_limit_reached', detail, { extras: { scope: 'tree' }, advice })
    }
    return issueSecret(client, keyId)
  })
}

/** @throws Fault `not_found` if `manager` does not manage the key */
export async function renameKey(
  database: Pool | PoolClient,
  manager: KeyManager,
  keyId: string,
  name: string | null,
): Promise<void> {
  await updateKey(database, `UPDATE hub.api_key SET name = $3 WHERE ${IS_MANAGED}`, [
    manager,
    keyId,
    name,
  ])
}

/**
 * Finds the account of the credits that a key spends: that of its main key.
 * @throws Fault `not_found` if `manager` does not manage the key, or it is a provider key
 */
export async function findCreditsAccount(
  pool: Pool,
  manager: KeyManager,
  keyId: string,
): Promise<ShardAccount> {
  const { rows } = await pool.query<ShardAccount>(
    `SELECT k.credits AS id, (SELECT p.shard FROM hub.principal p WHERE p.id = k.principal) AS shard
     FROM hub.api_key k WHERE ${IS_MANAGED} AND credits IS NOT NULL`,
    [manager, keyId],
  )
  if (!rows[0]) throw keyNotFound()
  return rows[0]
}

/** Permanently revokes a key and its sub-keys, within a second. @throws Fault `not_found` */
export async function revokeKey(pool: Pool, manager: KeyManager, keyId: string): Promise<void> {
  const sql = `UPDATE hub.api_key SET revoked_at = coalesce(revoked_at, now()) WHERE ${IS_MANAGED}`
  await updateKey(pool, sql, [manager, keyId])
}

/** Condition: $2 is a key managed by the ids in $1. */
export const IS_MANAGED = `id = $2 AND id IN (${MANAGED_KEYS} SELECT id FROM family)`

async function updateKey(
  database: Pool | PoolClient,
  sql: string,
  values: readonly unknown[],
): Promise<void> {
  const { rowCount } = await database.query(sql, [...values])
  if (rowCount !== 1) throw keyNotFound()
}

export const keyNotFound = (): Fault =>
  new Fault('not_found', 'There is no such key among the keys you manage.')
