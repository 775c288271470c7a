import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { getAddress } from 'viem'
import { Fault } from '../errors.ts'
import { base62 } from '../ids.ts'

export interface Challenge {
  readonly nonce: string
  /** The exact text to sign with personal_sign. */
  readonly message: string
  readonly expiresAt: Date
}

/** Whose name the message bears: the origin that wallets and people see. */
export interface Site {
  readonly origin: () => string
  readonly chainId: number
}

const LIFETIME_SECONDS = 300

/**
 * Makes a challenge, in the form of ERC-4361. Bound to an address when one is given; without, the
 * line of the address says that any wallet may sign, and the signature decides which.
 * @param wallet in lower case
 */
export async function createChallenge(
  pool: Pool,
  site: Site,
  wallet?: `0x${string}`,
): Promise<Challenge> {
  const nonce = base62(BigInt(`0x${randomBytes(18).toString('hex')}`), 24)
  const origin = site.origin()
  const { rows } = await pool.query<{ now: Date; expires: Date }>(
    `SELECT date_trunc('milliseconds', now()) AS now,
       date_trunc('milliseconds', now() + make_interval(secs => $1)) AS expires`,
    [LIFETIME_SECONDS],
  )
  const { now, expires } = rows[0]!
  const message = [
    `${new URL(origin).host} wants you to sign in with your Ethereum account:`,
    wallet ? getAddress(wallet) : '(the wallet that signs this message)',
    '',
    'Register this wallet as an agent and receive an API key. This costs nothing.',
    '',
    `URI: ${origin}`,
    'Version: 1',
    `Chain ID: ${site.chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${now.toISOString()}`,
    `Expiration Time: ${expires.toISOString()}`,
  ].join('\n')
  await pool.query('INSERT INTO hub.challenge VALUES ($1, $2, $3, $4)', [
    nonce,
    message,
    wallet ?? null,
    expires,
  ])
  return { nonce, message, expiresAt: expires }
}

/** What the challenge of a nonce asked to sign, if it can still be used. */
export async function readChallenge(
  pool: Pool,
  nonce: string,
): Promise<{ readonly message: string; readonly wallet: string | null }> {
  const { rows } = await pool.query<{
    message: string
    wallet_address: string | null
    used: boolean
    expired: boolean
  }>(
    `SELECT message, wallet_address, used_at IS NOT NULL AS used, expires_at <= now() AS expired
     FROM hub.challenge WHERE nonce = $1`,
    [nonce],
  )
  const [row] = rows
  if (!row) throw new Fault('nonce_unknown')
  if (row.used) throw new Fault('nonce_used')
  if (row.expired) throw new Fault('nonce_expired')
  return { message: row.message, wallet: row.wallet_address }
}

/** Uses a nonce up. Of any number at once, one succeeds; run it where the key is made. */
export const USE_CHALLENGE = `UPDATE hub.challenge SET used_at = now()
  WHERE nonce = $1 AND used_at IS NULL AND expires_at > now()`
