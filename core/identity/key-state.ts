import type { ClientBase, Pool } from 'pg'
import { Fault } from '../errors.ts'
import { IS_MANAGED, type KeyManager } from './sub-keys.ts'

/** State of a key, as shown to administrators. */
export interface KeyState {
  readonly id: string
  readonly principal: string
  readonly wallet_address: string | null
  readonly parent: string | null
  /** Requests per minute; null: the rate of its tier. */
  readonly rate_per_minute: number | null
  readonly frozen_at: Date | null
  readonly frozen_by: 'owner' | 'administrator' | null
  readonly frozen_reason: string | null
  readonly revoked_at: Date | null
}

/** @throws Fault `not_found` */
export async function findKeyState(pool: Pool | ClientBase, keyId: string): Promise<KeyState> {
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
 * Sets the custom rate of a main key, which its sub-keys share; null: the rate of its tier.
 * Takes effect on every process within a second.
 * @throws Fault `not_found`; `validation_failed` for a sub-key
 */
export async function setKeyRate(
  pool: Pool | ClientBase,
  keyId: string,
  perMinute: number | null,
): Promise<void> {
  const { parent } = await findKeyState(pool, keyId)
  if (parent !== null) {
    throw new Fault(
      'validation_failed',
      `A sub-key shares the rate of its main key. Set it for ${parent}.`,
    )
  }
  await pool.query('UPDATE hub.api_key SET rate_per_minute = $2 WHERE id = $1', [keyId, perMinute])
}

/** Sets the freeze of an administrator, and keeps that of the owner below it. */
const FREEZE_AS_ADMINISTRATOR = `
  owner_frozen_at = CASE frozen_by WHEN 'owner' THEN frozen_at ELSE owner_frozen_at END,
  owner_frozen_reason = CASE frozen_by WHEN 'owner' THEN frozen_reason ELSE owner_frozen_reason END,
  frozen_at = coalesce(frozen_at, now()), frozen_by = 'administrator', frozen_reason = $3`

/** Sets the freeze of the owner, below that of an administrator if there is one. */
const FREEZE_AS_OWNER = `
  owner_frozen_at = CASE frozen_by WHEN 'administrator' THEN coalesce(owner_frozen_at, now()) END,
  owner_frozen_reason = CASE frozen_by WHEN 'administrator' THEN $3 END,
  frozen_at = coalesce(frozen_at, now()), frozen_by = coalesce(frozen_by, 'owner'),
  frozen_reason = CASE frozen_by WHEN 'administrator' THEN frozen_reason ELSE $3 END`

/**
 * Blocks a key and its sub-keys until it is unfrozen. Takes effect on every process in a second.
 * Pending calls complete. Owner and administrators freeze a key independently of each other.
 * @throws Fault `not_found`; `validation_failed` for a key that would freeze itself
 */
export async function freezeKey(
  pool: Pool | ClientBase,
  keyId: string,
  by: { readonly manager: KeyManager } | 'administrator',
  reason: string,
): Promise<void> {
  if (by !== 'administrator' && by.manager.includes(keyId)) {
    throw new Fault(
      'validation_failed',
      'A key cannot freeze itself, because it could not unfreeze itself.',
    )
  }
  const [frozenBy, condition, managers] = authority(by)
  const setFreeze = frozenBy === 'owner' ? FREEZE_AS_OWNER : FREEZE_AS_ADMINISTRATOR
  const { rowCount } = await pool.query(
    `UPDATE hub.api_key SET ${setFreeze}
     WHERE id = $2 AND ($1::text[] IS NULL OR ${condition})`,
    [managers, keyId, reason],
  )
  if (rowCount !== 1)
    throw new Fault('not_found', 'There is no such key among the keys you manage.')
}

/**
 * Ends the freeze of the owner or of an administrator. A key that both froze stays frozen by the
 * other one.
 * @throws Fault `not_found`; `frozen_key` if an administrator froze it and `by` is its owner
 */
export async function thawKey(
  pool: Pool | ClientBase,
  keyId: string,
  by: { readonly manager: KeyManager } | 'administrator',
): Promise<void> {
  const [thawedBy, condition, managers] = authority(by)
  const { rows } = await pool.query<{ refused: boolean }>(
    `WITH found AS (
       SELECT id, $3 = 'owner' AND coalesce(frozen_by, '') = 'administrator' AS refused
       FROM hub.api_key WHERE id = $2 AND ($1::text[] IS NULL OR ${condition}) FOR UPDATE
     ), thawed AS (
       UPDATE hub.api_key k SET owner_frozen_at = NULL, owner_frozen_reason = NULL,
         frozen_at = CASE WHEN f.refused THEN k.frozen_at ELSE k.owner_frozen_at END,
         frozen_by = CASE WHEN f.refused THEN k.frozen_by
           WHEN k.owner_frozen_at IS NOT NULL THEN 'owner' END,
         frozen_reason = CASE WHEN f.refused THEN k.frozen_reason ELSE k.owner_frozen_reason END
       FROM found f WHERE k.id = f.id
     )
     SELECT refused FROM found`,
    [managers, keyId, thawedBy],
  )
  const [found] = rows
  if (!found) throw new Fault('not_found', 'There is no such key among the keys you manage.')
  if (found.refused) {
    throw new Fault('frozen_key', 'An administrator froze this key. Ask the operator.')
  }
}

/** Value of `frozen_by`, condition on the key, and managing ids. */
const authority = (by: { readonly manager: KeyManager } | 'administrator') =>
  by === 'administrator'
    ? ([by, 'true', null] as const)
    : (['owner', IS_MANAGED, by.manager] as const)
