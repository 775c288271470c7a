import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import type { Caller } from './keys.ts'
import { ADD_SECRET, generateKey, hashOf, prefixOf } from './secret.ts'

/** What a new key may do. Amounts are microdollars; null: no limit of its own. */
export interface ChildOrder {
  readonly name: string | null
  readonly maxCall: bigint | null
  readonly maxDay: bigint | null
  readonly maxTotal: bigint | null
  readonly services: readonly string[] | null
  readonly expiresAt: Date | null
}

export interface NewSecret {
  readonly keyId: string
  /** Shown this once; only its hash is kept. */
  readonly apiKey: string
}

export interface KeyInfo {
  readonly id: string
  readonly parent: string | null
  readonly name: string | null
  readonly prefixes: readonly string[]
  readonly max_call: bigint | null
  readonly max_day: bigint | null
  readonly max_total: bigint | null
  readonly services: readonly string[] | null
  readonly expires_at: Date | null
  readonly created_at: Date
  readonly used_at: Date | null
  readonly revoked_at: Date | null
}

const DEPTH_MAX = 4
const CHILDREN_MAX = 1_000

/** A key and all that it made, and what those made; $1 is its id. */
const FAMILY = `WITH RECURSIVE family AS (
    SELECT * FROM hub.api_key WHERE id = $1
    UNION ALL
    SELECT k.* FROM family f JOIN hub.api_key k ON k.parent = f.id
  )`

/** The keys that a caller may manage: its own and all below it, oldest first. */
export async function listKeys(
  pool: Pool,
  { keyId }: Caller,
  limit: number,
  after: string | undefined,
): Promise<KeyInfo[]> {
  const { rows } = await pool.query<KeyInfo>(
    `${FAMILY} SELECT f.id, f.parent, f.name, f.max_call, f.max_day, f.max_total, f.services,
       f.expires_at, f.created_at, f.used_at, f.revoked_at,
       ARRAY(SELECT s.prefix FROM hub.key_secret s WHERE s.key = f.id
         AND (s.expires_at IS NULL OR s.expires_at > now()) ORDER BY s.created_at) AS prefixes
     FROM family f
     WHERE $3::text IS NULL OR (f.created_at, f.id) >
       (SELECT l.created_at, l.id FROM hub.api_key l WHERE l.id = $3)
     ORDER BY f.created_at, f.id LIMIT $2`,
    [keyId, limit, after ?? null],
  )
  return rows
}

/**
 * Makes a key below the caller's. It spends the credits of their root, within its own limits and
 * those of every key above it.
 * @throws Fault `key_limit_reached` when the tree is too deep or too wide
 */
export async function makeChild(pool: Pool, caller: Caller, order: ChildOrder): Promise<NewSecret> {
  const keyId = prefixedId('key')
  const apiKey = generateKey()
  await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `INSERT INTO hub.api_key (id, principal, parent, depth, credits, name, max_call, max_day,
         max_total, services, expires_at)
       SELECT $2, p.principal, p.id, p.depth + 1, p.credits, $3, $4, $5, $6, $7, $8
       FROM hub.api_key p WHERE p.id = $1 AND p.depth < $9
         AND (SELECT count(*) FROM hub.api_key c WHERE c.parent = p.id) < $10`,
      [
        caller.keyId,
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

/** @throws Fault `not_found` when the key is not the caller's to manage */
export async function renameKey(
  pool: Pool,
  caller: Caller,
  keyId: string,
  name: string | null,
): Promise<void> {
  await change(pool, `UPDATE hub.api_key SET name = $3 WHERE ${MANAGED}`, [
    caller.keyId,
    keyId,
    name,
  ])
}

/**
 * Closes a key, and with it all that it made. Takes effect everywhere within a second.
 * @throws Fault `not_found` when the key is not the caller's to manage
 */
export async function revokeKey(pool: Pool, caller: Caller, keyId: string): Promise<void> {
  const sql = `UPDATE hub.api_key SET revoked_at = coalesce(revoked_at, now()) WHERE ${MANAGED}`
  await change(pool, sql, [caller.keyId, keyId])
}

/**
 * Gives a key a new secret. The old ones go on for `overlapSeconds`; the key stays the same, with
 * its credits, its limits and its history.
 * @throws Fault `not_found` when the key is not the caller's to manage, or is revoked
 */
export async function rotateKey(
  pool: Pool,
  caller: Caller,
  keyId: string,
  overlapSeconds: number,
): Promise<NewSecret> {
  const apiKey = generateKey()
  await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `SELECT FROM hub.api_key WHERE ${MANAGED} AND revoked_at IS NULL FOR UPDATE`,
      [caller.keyId, keyId],
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

const MANAGED = `id = $2 AND id IN (${FAMILY} SELECT id FROM family)`

async function change(pool: Pool, sql: string, values: readonly unknown[]): Promise<void> {
  const { rowCount } = await pool.query(sql, [...values])
  if (rowCount !== 1) throw unknown()
}

const unknown = (): Fault => new Fault('not_found', 'This key has no such key below it.')
