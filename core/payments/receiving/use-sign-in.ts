import type { Pool } from 'pg'
import { Fault } from '../../errors.ts'
import type { Caller } from '../../identity/keys.ts'
import { oldestMainKey } from '../../identity/main-keys.ts'
import { creditsOf } from '../../ledger/postings.ts'
import type { SignIn } from './sign-in-challenges.ts'

interface MainKeyRow {
  readonly id: string
  readonly principal: string
  /** Id of the account of its credits, and its shard. */
  readonly credits: bigint
  readonly shard: number
  readonly rate: number | null
  readonly isFrozen: boolean
  readonly isFirstUse: boolean
}

/**
 * Uses the nonce only for a wallet that has a key, so that strangers cannot fill the table, and
 * only if it expires within the 10 minutes that the table accepts: the clock that the challenge
 * was issued by may have been wrong.
 */
const USE = {
  name: 'sign-ins.use',
  text: `WITH main_key AS (
      SELECT k.*, p.shard FROM hub.api_key k JOIN hub.principal p ON p.id = k.principal
      WHERE k.id = (${oldestMainKey('$1')})
    ), used AS (
      INSERT INTO hub.used_sign_in (nonce, expires_at)
      SELECT $2, $3 FROM main_key
      WHERE $3::timestamptz > now() AND $3 <= now() + interval '10 minutes'
      ON CONFLICT DO NOTHING RETURNING nonce
    )
    SELECT id, principal, credits, shard, rate_per_minute AS rate,
      frozen_at IS NOT NULL AS "isFrozen", EXISTS (SELECT FROM used) AS "isFirstUse"
    FROM main_key`,
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
  const { id: keyId, principal, rate: ratePerMinute, credits: id, shard } = row
  const credits = { id, code: creditsOf(keyId), asset: 'USDC', shard } as const
  return { principal, keyId, wallet, credits, ratePerMinute, limits: [], seesMainKey: true }
}
