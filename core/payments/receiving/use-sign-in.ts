import type { Pool } from 'pg'
import { Fault } from '../../errors.ts'
import type { Caller } from '../../identity/keys.ts'
import { findKeyCredits, oldestMainKey } from '../../identity/main-keys.ts'
import type { SignIn } from './sign-in-challenges.ts'

interface MainKeyRow {
  readonly id: string
  readonly principal: string
  readonly rate: number | null
  readonly isFrozen: boolean
  readonly isFirstUse: boolean
}

/** Uses the nonce only for a wallet that has a key, so that strangers cannot fill the table. */
const USE = {
  name: 'sign-ins.use',
  text: `WITH main_key AS (
      SELECT * FROM hub.api_key WHERE id = (${oldestMainKey('$1')})
    ), used AS (
      INSERT INTO hub.used_sign_in (nonce, expires_at)
      SELECT $2, $3 FROM main_key WHERE $3::timestamptz > now()
      ON CONFLICT DO NOTHING RETURNING nonce
    )
    SELECT id, principal, rate_per_minute AS rate, frozen_at IS NOT NULL AS "isFrozen",
      EXISTS (SELECT FROM used) AS "isFirstUse" FROM main_key`,
}

/**
 * Uses the nonce of a sign-in and returns the caller: the oldest usable main key of the wallet.
 * Of concurrent uses of one nonce, one succeeds.
 * @throws Fault `frozen_key`
 */
export async function useSignIn(
  pool: Pool,
  { wallet, nonce, expiresAt }: Omit<SignIn, 'maximum'>,
): Promise<Caller | 'used' | 'no_account'> {
  const { rows } = await pool.query<MainKeyRow>({ ...USE, values: [wallet, nonce, expiresAt] })
  const [row] = rows
  if (!row) return 'no_account'
  if (!row.isFirstUse) return 'used'
  if (row.isFrozen) throw new Fault('frozen_key')
  const found = await findKeyCredits(pool, row.id)
  if (!found) return 'no_account' // revoked meanwhile
  const { id: keyId, principal, rate: ratePerMinute } = row
  const { credits } = found
  return { principal, keyId, wallet, credits, ratePerMinute, limits: [], seesMainKey: true }
}
