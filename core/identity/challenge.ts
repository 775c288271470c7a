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

/** Hub origin and chain that a challenge names, as wallets show them to people. */
export interface ChallengeIssuer {
  readonly origin: () => string
  readonly chainId: number
}

const CHALLENGE_SECONDS = 300

/** Content that a wallet agrees to by signing, as text and as stored terms. */
export interface Agreement {
  readonly purpose: 'link' | 'transfer' | 'payout' | 'payout-change' | 'sign-in'
  /** One line of the message. */
  readonly statement: string
  readonly terms: Readonly<Record<string, string>>
}

const REGISTRATION = 'Register this wallet as an agent and receive an API key. This costs nothing.'

/**
 * Creates a challenge in ERC-4361 format. Without `wallet`, any wallet may sign it; the address
 * line says so.
 * @param wallet lower case
 * @param agreement undefined: registration
 */
export async function createChallenge(
  pool: Pool,
  site: ChallengeIssuer,
  wallet?: `0x${string}`,
  agreement?: Agreement,
): Promise<Challenge> {
  const nonce = base62(BigInt(`0x${randomBytes(18).toString('hex')}`), 24)
  const origin = site.origin()
  const { rows } = await pool.query<{ now: Date; expires: Date }>(
    `SELECT date_trunc('milliseconds', now()) AS now,
       date_trunc('milliseconds', now() + make_interval(secs => $1)) AS expires`,
    [CHALLENGE_SECONDS],
  )
  const { now, expires } = rows[0]!
  const message = [
    `${new URL(origin).host} wants you to sign in with your Ethereum account:`,
    wallet ? getAddress(wallet) : '(the wallet that signs this message)',
    '',
    agreement?.statement ?? REGISTRATION,
    '',
    `URI: ${origin}`,
    'Version: 1',
    `Chain ID: ${site.chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${now.toISOString()}`,
    `Expiration Time: ${expires.toISOString()}`,
  ].join('\n')
  const { purpose = 'register', terms } = agreement ?? {}
  await pool.query(
    `INSERT INTO hub.challenge (nonce, message, wallet_address, expires_at, purpose, terms)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [nonce, message, wallet ?? null, expires, purpose, terms ?? null],
  )
  return { nonce, message, expiresAt: expires }
}

/** Message and terms of a challenge. */
export interface StoredChallenge {
  readonly message: string
  readonly wallet: `0x${string}` | null
  readonly terms: unknown
  readonly used: boolean
  readonly expired: boolean
}

/**
 * Finds the challenge of a nonce, also a used or expired one.
 * @throws Fault `nonce_unknown`, also for a challenge of another purpose
 */
export async function findChallenge(
  pool: Pool,
  nonce: string,
  purpose: Agreement['purpose'] | 'register',
): Promise<StoredChallenge> {
  const { rows } = await pool.query<StoredChallenge>(
    `SELECT message, wallet_address AS wallet, terms, used_at IS NOT NULL AS used,
       expires_at <= now() AS expired
     FROM hub.challenge WHERE nonce = $1 AND purpose = $2`,
    [nonce, purpose],
  )
  if (!rows[0]) throw new Fault('nonce_unknown')
  return rows[0]
}

/** Finds an unused challenge. @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired` */
export async function readUsableChallenge(
  pool: Pool,
  nonce: string,
  purpose: Agreement['purpose'] | 'register',
): Promise<StoredChallenge> {
  const challenge = await findChallenge(pool, nonce, purpose)
  if (challenge.used) throw new Fault('nonce_used')
  if (challenge.expired) throw new Fault('nonce_expired')
  return challenge
}

/** Marks a nonce used; at most one execution succeeds. Run it in the transaction of the effect. */
export const USE_CHALLENGE = `UPDATE hub.challenge SET used_at = now()
  WHERE nonce = $1 AND used_at IS NULL AND expires_at > now()`
