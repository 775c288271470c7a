import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import {
  type Challenge,
  type ChallengeIssuer,
  createChallenge,
  readUsableChallenge,
  USE_CHALLENGE,
} from './challenge.ts'
import { findOrCreatePrincipal } from './main-keys.ts'
import { type OpenedSession, openSession, type Session, type SessionOrigin } from './sessions.ts'
import { assertSigned, type ContractVerifier } from './wallet-signature.ts'

/** Creates a challenge to sign in with a `wallet` (lower case). */
export const createSignInChallenge = (
  pool: Pool,
  site: ChallengeIssuer,
  wallet: `0x${string}`,
): Promise<Challenge> =>
  createChallenge(pool, site, wallet, {
    purpose: 'sign-in',
    statement: 'Sign in to manage the API keys and APIs of this wallet. This costs nothing.',
    terms: {},
  })

/**
 * Opens a session of a wallet by its signature. The session manages what the wallet itself owns,
 * never the account of a person that it is linked to.
 * @param replaced session of the browser, which ends if it is of the same wallet
 * @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired`, `invalid_signature`
 */
export async function signInWallet(
  { pool, contracts }: { readonly pool: Pool; readonly contracts: ContractVerifier | undefined },
  { nonce, signature }: { readonly nonce: string; readonly signature: `0x${string}` },
  origin: SessionOrigin,
  replaced?: Session,
): Promise<OpenedSession> {
  const { message, wallet } = await readUsableChallenge(pool, nonce, 'sign-in')
  if (wallet === null) throw new Fault('nonce_unknown')
  await assertSigned({ wallet, message, signature }, contracts)
  const { id } = await findOrCreatePrincipal(pool, wallet)
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(USE_CHALLENGE, [nonce])
    if (rowCount !== 1) throw new Fault('nonce_used')
    return openSession(client, id, origin, replaced)
  })
}
