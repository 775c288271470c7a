import type { Pool, PoolClient } from 'pg'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import {
  type Challenge,
  createChallenge,
  readChallenge,
  type Site,
  USE_CHALLENGE,
} from './challenge.ts'
import { type Principal, principalOf } from './roots.ts'
import type { Session } from './sessions.ts'
import { assertSigned, type ContractWallets } from './wallet-signature.ts'

/**
 * The person with an address, made when it is new: a principal without a wallet. In the
 * transaction of `client`.
 * @param email in lower case
 */
export async function makePerson(client: PoolClient, email: string): Promise<string> {
  await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`person:${email}`])
  const { rows } = await client.query<{ principal: string }>(
    'SELECT principal FROM hub.person WHERE email = $1',
    [email],
  )
  if (rows[0]) return rows[0].principal
  const id = prefixedId('prn')
  await client.query(
    `INSERT INTO hub.principal (id, shard)
     SELECT $1, (hashtext($1) & 2147483647) % count(*) FROM ledger.head`,
    [id],
  )
  await client.query('INSERT INTO hub.person (principal, email) VALUES ($1, $2)', [id, email])
  return id
}

/** The principal of whoever is signed in. */
export async function personOf(pool: Pool, { person }: Session): Promise<Principal> {
  const { rows } = await pool.query<Principal>(
    'SELECT id, shard FROM hub.principal WHERE id = $1',
    [person],
  )
  return rows[0]!
}

/** When the account was made. */
export async function memberSince(pool: Pool, { person }: Session): Promise<Date> {
  const { rows } = await pool.query<{ at: Date }>(
    'SELECT created_at AS at FROM hub.person WHERE principal = $1',
    [person],
  )
  return rows[0]!.at
}

export interface LinkedWallet {
  /** In lower case. */
  readonly wallet: string
  readonly linked_at: Date
}

/** The wallets of an account, in the order in which they were linked. */
export async function linkedWallets(pool: Pool, { person }: Session): Promise<LinkedWallet[]> {
  const { rows } = await pool.query<LinkedWallet>(
    `SELECT p.wallet_address AS wallet, l.linked_at FROM hub.wallet_link l
     JOIN hub.principal p ON p.id = l.wallet WHERE l.person = $1 ORDER BY l.linked_at, p.id`,
    [person],
  )
  return rows
}

/**
 * Asks a wallet to let this account manage its keys. What it signs names the account, so that
 * nobody links a wallet to theirs by a signature for something else.
 * @param wallet in lower case
 */
export const askToLink = (
  pool: Pool,
  site: Site,
  { person, email }: Session,
  wallet: `0x${string}`,
): Promise<Challenge> =>
  createChallenge(pool, site, wallet, {
    purpose: 'link',
    statement:
      `Let the account of ${email} manage the keys of this wallet, see what they spend, and ` +
      'make new secrets for them. It stays so until you link the wallet to another account.',
    terms: { person },
  })

/**
 * Links a wallet to the account, by the wallet's signature. No row moves: its keys stay on its own
 * principal, with their credits, allowances and free calls. It leaves the account that it was
 * linked to before, since it is the wallet that decides.
 * @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired`, `invalid_signature`
 */
export async function linkWallet(
  pool: Pool,
  session: Session,
  signed: { readonly nonce: string; readonly signature: `0x${string}` },
  contracts?: ContractWallets,
): Promise<string> {
  const { message, wallet, terms } = await readChallenge(pool, signed.nonce, 'link')
  const { person } = terms as { person: string }
  if (wallet === null || person !== session.person) throw new Fault('nonce_unknown')
  await assertSigned({ wallet, message, signature: signed.signature }, contracts)
  const principal = await principalOf(pool, wallet)
  const { rowCount } = await pool.query(
    `WITH used AS (${USE_CHALLENGE} RETURNING nonce)
     INSERT INTO hub.wallet_link (wallet, person) SELECT $2, $3 FROM used
     ON CONFLICT (wallet) DO UPDATE SET person = excluded.person, linked_at = now()`,
    [signed.nonce, principal.id, person],
  )
  if (rowCount !== 1) throw new Fault('nonce_used')
  return wallet
}

/**
 * The account lets a wallet go; its keys work on as they are.
 * @throws Fault `not_found` for a wallet that is not linked to it
 */
export async function unlinkWallet(pool: Pool, { person }: Session, wallet: string): Promise<void> {
  const { rowCount } = await pool.query(
    `DELETE FROM hub.wallet_link WHERE person = $1
       AND wallet = (SELECT id FROM hub.principal WHERE wallet_address = $2)`,
    [person, wallet],
  )
  if (rowCount !== 1) throw new Fault('not_found', 'This wallet is not linked to the account.')
}
