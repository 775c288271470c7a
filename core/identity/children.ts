import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import { ADD_SECRET, generateKey, hashOf, type NewSecret, prefixOf } from './secret.ts'

/**
 * Whoever manages keys, by ids: a key manages itself and all below it, a principal all its keys.
 * A person is the principal of the account and of every wallet that is linked to it.
 */
export type Manager = readonly string[]

/** What a new key may do. Amounts are microdollars; null: no limit of its own. */
export interface ChildOrder {
  readonly name: string | null
  readonly maxCall: bigint | null
  readonly maxDay: bigint | null
  readonly maxTotal: bigint | null
  readonly services: readonly string[] | null
  readonly expiresAt: Date | null
}

export interface KeyInfo {
  readonly id: string
  readonly parent: string | null
  /** A provider's manages what its principal sells, and has no credits. */
  readonly role: 'agent' | 'provider'
  readonly name: string | null
  /** Of its wallet; null: of a person. */
  readonly wallet_address: string | null
  readonly prefixes: readonly string[]
  readonly max_call: bigint | null
  readonly max_day: bigint | null
  readonly max_total: bigint | null
  readonly services: readonly string[] | null
  readonly expires_at: Date | null
  readonly created_at: Date
  readonly used_at: Date | null
  readonly revoked_at: Date | null
  readonly frozen_at: Date | null
  readonly frozen_by: 'owner' | 'administrator' | null
  readonly frozen_reason: string | null
  /** Credits of a root, in microdollars; null: it spends those of its root. */
  readonly balance: bigint | null
}

const DEPTH_MAX = 4
const CHILDREN_MAX = 1_000

/** All that a manager manages; $1 are its ids. */
export const FAMILY = `WITH RECURSIVE family AS (
    SELECT * FROM hub.api_key
      WHERE id = ANY ($1) OR (principal = ANY ($1) AND parent IS NULL)
    UNION ALL
    SELECT k.* FROM family f JOIN hub.api_key k ON k.parent = f.id
  )`

/** Keys of the family as `KeyInfo` has them. */
const INFO = `SELECT f.id, f.parent, f.role, f.name, f.max_call, f.max_day, f.max_total, f.services,
    f.expires_at, f.created_at, f.used_at, f.revoked_at, f.frozen_at, f.frozen_by,
    f.frozen_reason, p.wallet_address,
    CASE WHEN f.parent IS NULL THEN (SELECT b.balance FROM ledger.balance b
      WHERE b.account = f.credits AND b.shard = p.shard) END AS balance,
    ARRAY(SELECT s.prefix FROM hub.key_secret s WHERE s.key = f.id
      AND (s.expires_at IS NULL OR s.expires_at > now()) ORDER BY s.created_at) AS prefixes
  FROM family f JOIN hub.principal p ON p.id = f.principal`

/** The keys of a manager, oldest first. */
export async function listKeys(
  pool: Pool,
  manager: Manager,
  limit: number,
  after: string | undefined,
): Promise<KeyInfo[]> {
  const { rows } = await pool.query<KeyInfo>(
    `${FAMILY} ${INFO}
     WHERE $3::text IS NULL OR (f.created_at, f.id) >
       (SELECT l.created_at, l.id FROM hub.api_key l WHERE l.id = $3)
     ORDER BY f.created_at, f.id LIMIT $2`,
    [manager, limit, after ?? null],
  )
  return rows
}

/** @throws Fault `not_found` when the key is not the manager's */
export async function findKey(pool: Pool, manager: Manager, keyId: string): Promise<KeyInfo> {
  const { rows } = await pool.query<KeyInfo>(`${FAMILY} ${INFO} WHERE f.id = $2`, [manager, keyId])
  if (!rows[0]) throw unknown()
  return rows[0]
}

/**
 * Makes a key below another one. It spends the credits of their root, within its own limits and
 * those of every key above it.
 * @throws Fault `key_limit_reached` when the tree is too deep or too wide; `not_found` when the
 *   parent is not the manager's, or is revoked
 */
export async function makeChild(
  pool: Pool,
  manager: Manager,
  parent: string,
  order: ChildOrder,
): Promise<NewSecret> {
  const keyId = prefixedId('key')
  const apiKey = generateKey()
  await inTransaction(pool, async (client) => {
    // Locked: two at once must not both be the thousandth.
    const managed = await client.query(
      `SELECT FROM hub.api_key WHERE ${MANAGED} AND revoked_at IS NULL AND role = 'agent'
       FOR UPDATE`,
      [manager, parent],
    )
    if (managed.rowCount !== 1) throw unknown()
    const { rowCount } = await client.query(
      `INSERT INTO hub.api_key (id, principal, parent, depth, credits, name, max_call, max_day,
         max_total, services, expires_at)
       SELECT $2, p.principal, p.id, p.depth + 1, p.credits, $3, $4, $5, $6, $7, $8
       FROM hub.api_key p WHERE p.id = $1 AND p.depth < $9
         AND (SELECT count(*) FROM hub.api_key c WHERE c.parent = p.id) < $10`,
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
        CHILDREN_MAX,
      ],
    )
    if (rowCount !== 1) {
      const detail = `Keys go ${DEPTH_MAX} deep, and ${CHILDREN_MAX} from one.`
      throw new Fault('key_limit_reached', detail, { extras: { scope: 'tree' } })
    }
    await client.query(ADD_SECRET, [hashOf(apiKey), keyId, prefixOf(apiKey)])
  })
  return { keyId, apiKey }
}

/** @throws Fault `not_found` when the key is not the manager's */
export async function renameKey(
  pool: Pool,
  manager: Manager,
  keyId: string,
  name: string | null,
): Promise<void> {
  await change(pool, `UPDATE hub.api_key SET name = $3 WHERE ${MANAGED}`, [manager, keyId, name])
}

/**
 * The account of the credits that a key spends, its root's.
 * @throws Fault `not_found` when the key is not the manager's, or has none: it is a provider's
 */
export async function creditsOfKey(pool: Pool, manager: Manager, keyId: string): Promise<bigint> {
  const { rows } = await pool.query<{ credits: bigint }>(
    `SELECT credits FROM hub.api_key WHERE ${MANAGED} AND credits IS NOT NULL`,
    [manager, keyId],
  )
  if (!rows[0]) throw unknown()
  return rows[0].credits
}

/**
 * Closes a key, and with it all that it made. Takes effect everywhere within a second.
 * @throws Fault `not_found` when the key is not the manager's
 */
export async function revokeKey(pool: Pool, manager: Manager, keyId: string): Promise<void> {
  const sql = `UPDATE hub.api_key SET revoked_at = coalesce(revoked_at, now()) WHERE ${MANAGED}`
  await change(pool, sql, [manager, keyId])
}

/**
 * Gives a key a new secret. The old ones go on for `overlapSeconds`; the key stays the same, with
 * its credits, its limits and its history.
 * @throws Fault `not_found` when the key is not the manager's, or is revoked
 */
export async function rotateKey(
  pool: Pool,
  manager: Manager,
  keyId: string,
  overlapSeconds: number,
): Promise<NewSecret> {
  const apiKey = generateKey()
  await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `SELECT FROM hub.api_key WHERE ${MANAGED} AND revoked_at IS NULL FOR UPDATE`,
      [manager, keyId],
    )
    if (rowCount !== 1) throw unknown()
    await client.query(
      `UPDATE hub.key_secret SET expires_at = least(expires_at, now() + make_interval(secs => $2))
       WHERE key = $1`,
      [keyId, overlapSeconds],
    )
    await client.query(ADD_SECRET, [hashOf(apiKey), keyId, prefixOf(apiKey)])
  })
  return { keyId, apiKey }
}

/** Whether $2 is one of the keys that $1 manages. */
export const MANAGED = `id = $2 AND id IN (${FAMILY} SELECT id FROM family)`

async function change(pool: Pool, sql: string, values: readonly unknown[]): Promise<void> {
  const { rowCount } = await pool.query(sql, [...values])
  if (rowCount !== 1) throw unknown()
}

const unknown = (): Fault => new Fault('not_found', 'This key has no such key below it.')
