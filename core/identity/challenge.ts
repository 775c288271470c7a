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

/** What a wallet agrees to by its signature, in words and for the database. */
export interface Agreement {
  readonly purpose: 'link' | 'transfer' | 'payout'
  /** Of the message: one line. */
  readonly statement: string
  readonly terms: Readonly<Record<string, string>>
}

const REGISTRATION = 'Register this wallet as an agent and receive an API key. This costs nothing.'

/**
 * Makes a challenge, in the form of ERC-4361. Bound to an address when one is given; without, the
 * line of the address says that any wallet may sign, and the signature decides which.
 * @param wallet in lower case
 * @param agreement left out: registration
 */
export async function createChallenge(
  pool: Pool,
  site: Site,
  wallet?: `0x${string}`,
  agreement?: Agreement,
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

/** What a challenge asked to sign. */
export interface Asked {
  readonly message: string
  readonly wallet: `0x${string}` | null
  readonly terms: unknown
  readonly used: boolean
  readonly expired: boolean
}

/**
 * What the challenge of a nonce asked to sign, whether or not it can still be used.
 * @throws Fault `nonce_unknown`, also for a challenge of another purpose
 */
export async function findChallenge(
  pool: Pool,
  nonce: string,
  purpose: Agreement['purpose'] | 'register',
): Promise<Asked> {
  const { rows } = await pool.query<Asked>(
    `SELECT message, wallet_address AS wallet, terms, used_at IS NOT NULL AS used,
       expires_at <= now() AS expired
     FROM hub.challenge WHERE nonce = $1 AND purpose = $2`,
    [nonce, purpose],
  )
  if (!rows[0]) throw new Fault('nonce_unknown')
  return rows[0]
}

/**
 * What the challenge of a nonce asked to sign, if it can still be used.
 * @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired`
 */
export async function readChallenge(
  pool: Pool,
  nonce: string,
  purpose: Agreement['purpose'] | 'register',
): Promise<Asked> {
  const asked = await findChallenge(pool, nonce, purpose)
  if (asked.used) throw new Fault('nonce_used')
  if (asked.expired) throw new Fault('nonce_expired')
  return asked
}

/** Uses a nonce up. Of any number at once, one succeeds; run it where the effect is made. */
export const USE_CHALLENGE = `UPDATE hub.challenge SET used_at = now()
  WHERE nonce = $1 AND used_at IS NULL AND expires_at > now()`
