import type { Pool } from 'pg'
import { systemClock } from '../clock.ts'
import { Fault } from '../errors.ts'
import { findKey, type KeyManager, revokeKey } from '../identity/sub-keys.ts'
import { uuidv7 } from '../ids.ts'
import { transferCredits } from '../ledger/adjust.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { creditsOf } from '../ledger/postings.ts'
import { type Micros, micros } from '../money.ts'

/** Credits of a revoked key, in microdollars. */
export interface RevokedCredits {
  /** Main key that has them now; null if none moved. */
  readonly movedTo: string | null
  readonly moved: Micros
  /** Credits that stay on the revoked key, and cannot be spent. */
  readonly left: Micros
}

/** Attempts: calls in flight may still reserve credits for a second. */
const TRIES_MAX = 3

/**
 * Revokes a key and its sub-keys permanently. The credits of a main key move to another main key of
 * its wallet or account. Without one, and while an administrator froze the key, they stay on it.
 * Repeat it to move what calls in flight have released since.
 * @param to id of the main key that receives the credits. @defaultValue the oldest other one
 * @throws Fault `not_found`; `validation_failed` if `to` cannot receive them: nothing was revoked
 */
export async function revokeKeyWithCredits(
  { pool, ledger }: { readonly pool: Pool; readonly ledger: Ledger },
  manager: KeyManager,
  keyId: string,
  to?: string,
): Promise<RevokedCredits> {
  const key = await findKey(pool, manager, keyId)
  if (key.balance === null) {
    if (to !== undefined) throw new Fault('validation_failed', 'A sub-key has no credits to move.')
    await revokeKey(pool, manager, keyId)
    return { movedTo: null, moved: micros(0n), left: micros(0n) }
  }
  const target = key.frozen_by === 'administrator' ? undefined : await findTarget(pool, keyId, to)
  if (to !== undefined && target === undefined) {
    throw new Fault('validation_failed', `Credits cannot move to ${to}. Nothing was revoked.`)
  }
  await revokeKey(pool, manager, keyId)
  const moved = target === undefined ? micros(0n) : await moveCredits(pool, ledger, keyId, target)
  const left = await ledger.balance(creditsOf(keyId))
  return { movedTo: moved > 0n ? target! : null, moved, left }
}

/** Finds a usable main key of the same principal. */
async function findTarget(pool: Pool, keyId: string, to?: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT t.id FROM hub.api_key k JOIN hub.api_key t ON t.principal = k.principal
     WHERE k.id = $1 AND t.id <> k.id AND ($2::text IS NULL OR t.id = $2) AND t.parent IS NULL
       AND t.credits IS NOT NULL AND t.revoked_at IS NULL AND t.frozen_at IS NULL
       AND (t.expires_at IS NULL OR t.expires_at > now())
     ORDER BY t.created_at, t.id LIMIT 1`,
    [keyId, to ?? null],
  )
  return rows[0]?.id
}

async function moveCredits(
  pool: Pool,
  ledger: Ledger,
  keyId: string,
  target: string,
): Promise<Micros> {
  const from = await ledger.account(creditsOf(keyId))
  const to = await ledger.account(creditsOf(target))
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const amount = await ledger.balance(from.code)
    if (amount === 0n) break
    const id = uuidv7(systemClock.now().getTime())
    const meta = { revoked: keyId }
    const outcome = await transferCredits(pool, ledger, { from, to, amount }, { id, meta })
    if (outcome === 'applied') return amount
    if (outcome !== 'insufficient_funds') throw new Error(`credits of ${keyId}: ${outcome}`)
  }
  return micros(0n)
}
