import type { Pool } from 'pg'
import { Fault } from '../errors.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { readChallenge, USE_CHALLENGE } from './challenge.ts'
import { makeRoot, principalOf } from './roots.ts'
import type { NewSecret } from './secret.ts'
import { assertSigned, type ContractWallets } from './wallet-signature.ts'

export interface Registration {
  /** In lower case. */
  readonly wallet: `0x${string}`
  readonly signature: `0x${string}`
  readonly nonce: string
}

/** A root of a wallet. */
export interface Registered extends NewSecret {
  readonly principal: string
}

/**
 * Registers a wallet by its signature over a challenge and makes a key (specification §5.1). The
 * same wallet may register again: it stays one principal and gets another key.
 * @param contracts asks wallets that are contracts; undefined: they cannot register
 * @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired`, `invalid_signature`;
 *   `validation_failed` for what is no signature at all
 */
export async function register(
  pool: Pool,
  ledger: Ledger,
  { wallet, signature, nonce }: Registration,
  contracts?: ContractWallets,
): Promise<Registered> {
  const challenge = await readChallenge(pool, nonce, 'register')
  if (challenge.wallet !== null && challenge.wallet !== wallet) {
    throw new Fault('invalid_signature', 'The challenge was made for another wallet.')
  }
  await assertSigned({ wallet, message: challenge.message, signature }, contracts)
  const principal = await principalOf(pool, wallet)
  const made = await makeRoot(pool, ledger, principal, {}, async (client) => {
    const { rowCount } = await client.query(USE_CHALLENGE, [nonce])
    if (rowCount !== 1) throw new Fault('nonce_used')
  })
  return { ...made, principal: principal.id }
}
