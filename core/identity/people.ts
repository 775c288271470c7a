import type { Pool, PoolClient } from 'pg'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import { readShards } from '../ledger/shards.ts'
import {
  type Challenge,
  type ChallengeIssuer,
  createChallenge,
  readUsableChallenge,
  USE_CHALLENGE,
} from './challenge.ts'
import { findOrCreatePrincipal, type Principal } from './main-keys.ts'
import type { Session } from './sessions.ts'
import { assertSigned, type ContractVerifier } from './wallet-signature.ts'

/** Returns the person with an `email` (lower case), created in the transaction of `client`. */
export async function findOrCreatePerson(client: PoolClient, email: string): Promise<string> {
  await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`person:${email}`])
  const { rows } = await client.query<{ principal: string }>(
    'SELECT principal FROM hub.person WHERE email = $1',
    [email],
  )
  if (rows[0]) return rows[0].principal
  const id = prefixedId('prn')
  const shards = await readShards(client)
  await client.query(
    `INSERT INTO hub.principal (id, shard) VALUES ($1, (hashtext($1) & 2147483647) % $2::bigint)`,
    [id, shards.length],
  )
  await client.query('INSERT INTO hub.person (principal, email) VALUES ($1, $2)', [id, email])
  return id
}

/** Finds the principal of a session. */
export async function findPersonPrincipal(pool: Pool, { person }: Session): Promise<Principal> {
  const { rows } = await pool.query<Principal>(
    'SELECT id, shard FROM hub.principal WHERE id = $1',
    [person],
  )
  return rows[0]!
}

/** Returns when the account was created. */
export async function findMemberSince(pool: Pool, { person }: Session): Promise<Date> {
  const { rows } = await pool.query<{ at: Date }>(
    'SELECT created_at AS at FROM hub.principal WHERE id = $1',
    [person],
  )
  return rows[0]!.at
}

/** Returns the address of an account. @throws Fault `email_account_required` for a wallet's */
export function requireEmail({ email }: Session): string {
  if (email === null) throw new Fault('email_account_required')
  return email
}

export interface LinkedWallet {
  /** Lower case. */
  readonly wallet: string
  readonly linked_at: Date
}

/** Lists an account's linked wallets, oldest link first. */
export async function listLinkedWallets(pool: Pool, { person }: Session): Promise<LinkedWallet[]> {
  const { rows } = await pool.query<LinkedWallet>(
    `SELECT p.wallet_address AS wallet, l.linked_at FROM hub.wallet_link l
     JOIN hub.principal p ON p.id = l.wallet WHERE l.person = $1 ORDER BY l.linked_at, p.id`,
    [person],
  )
  return rows
}

/**
 * Creates a challenge to link a `wallet` (lower case) to this account, which it names.
 * @throws Fault `email_account_required`
 */
export function createLinkChallenge(
  pool: Pool,
  site: ChallengeIssuer,
  session: Session,
  wallet: `0x${string}`,
): Promise<Challenge> {
  const email = requireEmail(session)
  return createChallenge(pool, site, wallet, {
    purpose: 'link',
    statement:
      `Let the account of ${email} manage the keys of this wallet, see what they spend, and ` +
      'create new secrets for them, until you link the wallet to another account.',
    terms: { person: session.person },
  })
}

/**
 * Links a wallet to the account by the wallet's signature, and unlinks it from any other account.
 * Its keys stay with its own principal, with their credits, allowances and free calls.
 * @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired`, `invalid_signature`
 */
export async function linkWallet(
  pool: Pool,
  session: Session,
  signed: { readonly nonce: string; readonly signature: `0x${string}` },
  contracts?: ContractVerifier,
): Promise<string> {
  const { message, wallet, terms } = await readUsableChallenge(pool, signed.nonce, 'link')
  const { person } = terms as { person: string }
  if (wallet === null || person !== session.person) throw new Fault('nonce_unknown')
  await assertSigned({ wallet, message, signature: signed.signature }, contracts)
  const principal = await findOrCreatePrincipal(pool, wallet)
  const { rowCount } = await pool.query(
    `WITH used AS (${USE_CHALLENGE} RETURNING nonce)
     INSERT INTO hub.wallet_link (wallet, person) SELECT $2, $3 FROM used
     ON CONFLICT (wallet) DO UPDATE SET person = excluded.person, linked_at = now()`,
    [signed.nonce, principal.id, person],
  )
  if (rowCount !== 1) throw new Fault('nonce_used')
  return wallet
}

/** Unlinks a wallet from the account; its keys keep working. @throws Fault `not_found` */
export async function unlinkWallet(pool: Pool, { person }: Session, wallet: string): Promise<void> {
  const { rowCount } = await pool.query(
    `DELETE FROM hub.wallet_link WHERE person = $1
       AND wallet = (SELECT id FROM hub.principal WHERE wallet_address = $2)`,
    [person, wallet],
  )
  if (rowCount !== 1) throw new Fault('not_found', 'This wallet is not linked to the account.')
}
