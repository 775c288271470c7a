import type { ClientBase, Pool } from 'pg'
import { Fault } from '../errors.ts'
import { MANAGED, type Manager } from './children.ts'

/** What administrators see of a key. */
export interface KeyState {
  readonly id: string
  readonly principal: string
  readonly wallet_address: string | null
  readonly parent: string | null
  /** Requests per minute; null: those of its tier. */
  readonly rate_per_minute: number | null
  readonly frozen_at: Date | null
  readonly frozen_by: 'owner' | 'administrator' | null
  readonly frozen_reason: string | null
  readonly revoked_at: Date | null
}

/** @throws Fault `not_found` */
export async function keyState(pool: Pool | ClientBase, keyId: string): Promise<KeyState> {
  const { rows } = await pool.query<KeyState>(
    `SELECT k.id, k.principal, p.wallet_address, k.parent, k.rate_per_minute, k.frozen_at,
       k.frozen_by, k.frozen_reason, k.revoked_at
     FROM hub.api_key k JOIN hub.principal p ON p.id = k.principal WHERE k.id = $1`,
    [keyId],
  )
  if (!rows[0]) throw new Fault('not_found', 'There is no such key.')
  return rows[0]
}

/**
 * Gives a root a rate of its own, by arrangement (specification §8), or that of its tier again.
 * The keys below it share it. Takes effect everywhere within a second.
 * @throws Fault `not_found`; `validation_failed` for a key that another one made
 */
export async function setRate(
  pool: Pool | ClientBase,
  keyId: string,
  perMinute: number | null,
): Promise<void> {
  const { parent } = await keyState(pool, keyId)
  if (parent !== null) {
    throw new Fault('validation_failed', `It shares the rate of its root: set it for ${parent}.`)
  }
  await pool.query('UPDATE hub.api_key SET rate_per_minute = $2 WHERE id = $1', [keyId, perMinute])
}

/**
 * Stops a key, and all that it made, until it is thawed; everywhere within a second. Calls that
 * are under way come to their end. What an administrator froze stays frozen by the administrator.
 * @throws Fault `not_found`
 */
export async function freeze(
  pool: Pool | ClientBase,
  keyId: string,
  by: { readonly manager: Manager } | 'administrator',
  reason: string,
): Promise<void> {
  if (by !== 'administrator' && by.manager.includes(keyId)) {
    throw new Fault('validation_failed', 'A key that froze itself could not thaw itself.')
  }
  const [who, managed, managers] = authority(by)
  const { rowCount } = await pool.query(
    `UPDATE hub.api_key SET frozen_at = coalesce(frozen_at, now()),
       frozen_by = CASE WHEN frozen_by = 'administrator' THEN frozen_by ELSE $3 END,
       frozen_reason = CASE WHEN frozen_by = 'administrator' AND $3 = 'owner'
         THEN frozen_reason ELSE $4 END
     WHERE id = $2 AND ($1::text[] IS NULL OR ${managed})`,
    [managers, keyId, who, reason],
  )
  if (rowCount !== 1) throw new Fault('not_found', 'There is no such key below this one.')
}

/**
 * Lets a frozen key work again.
 * @throws Fault `not_found`; `frozen_key` to an owner, when an administrator froze it
 */
export async function thaw(
  pool: Pool | ClientBase,
  keyId: string,
  by: { readonly manager: Manager } | 'administrator',
): Promise<void> {
  const [who, managed, managers] = authority(by)
  const { rows } = await pool.query<{ kept: boolean }>(
    `WITH found AS (
       SELECT id, $3 = 'owner' AND coalesce(frozen_by, '') = 'administrator' AS kept
       FROM hub.api_key WHERE id = $2 AND ($1::text[] IS NULL OR ${managed}) FOR UPDATE
     ), thawed AS (
       UPDATE hub.api_key k SET frozen_at = NULL, frozen_by = NULL, frozen_reason = NULL
       FROM found f WHERE k.id = f.id AND NOT f.kept
     )
     SELECT kept FROM found`,
    [managers, keyId, who],
  )
  const [found] = rows
  if (!found) throw new Fault('not_found', 'There is no such key below this one.')
  if (found.kept) throw new Fault('frozen_key', 'An administrator froze it: ask the operator.')
}

const authority = (by: { readonly manager: Manager } | 'administrator') =>
  by === 'administrator' ? ([by, 'true', null] as const) : (['owner', MANAGED, by.manager] as const)
