import type { Pool } from 'pg'
import { Fault } from '../errors.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { readUsableChallenge, USE_CHALLENGE } from './challenge.ts'
import { createMainKey, findOrCreatePrincipal } from './main-keys.ts'
import type { NewKey } from './secret.ts'
import { assertSigned, type ContractVerifier } from './wallet-signature.ts'

export interface Registration {
  /** Lower case. */
  readonly wallet: `0x${string}`
  readonly signature: `0x${string}`
  readonly nonce: string
}

/**
 * Registers a wallet by its signature over a challenge and creates a main key. A wallet that
 * registers again stays one principal and gets another key.
 * @param contracts verifies contract wallets; undefined: they cannot register
 * @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired`, `invalid_signature`;
 *   `validation_failed` for a malformed signature
 */
export async function registerWallet(
  pool: Pool,
  ledger: Ledger,
  { wallet, signature, nonce }: Registration,
  contracts?: ContractVerifier,
): Promise<NewKey & { readonly principal: string }> {
  const challenge = await readUsableChallenge(pool, nonce, 'register')
  if (challenge.wallet !== null && challenge.wallet !== wallet) {
    throw new Fault('invalid_signature', 'The challenge was made for another wallet.')
  }
  await assertSigned({ wallet, message: challenge.message, signature }, contracts)
  const principal = await findOrCreatePrincipal(pool, wallet)
  const key = await createMainKey(pool, ledger, principal, { signed: true }, async (client) => {
    const { rowCount } = await client.query(USE_CHALLENGE, [nonce])
    if (rowCount !== 1) throw new Fault('nonce_used')
  })
  return { ...key, principal: principal.id }
}
