import type { Pool } from 'pg'
import { recoverMessageAddress } from 'viem'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { creditsOf } from '../ledger/postings.ts'
import { readChallenge, USE_CHALLENGE } from './challenge.ts'
import { ADD_SECRET, generateKey, hashOf, prefixOf } from './secret.ts'

export interface Registration {
  /** In lower case. */
  readonly wallet: `0x${string}`
  readonly signature: `0x${string}`
  readonly nonce: string
}

export interface Registered {
  /** Shown this once; only its hash is kept. */
  readonly apiKey: string
  readonly keyId: string
  readonly principal: string
}

/**
 * Registers a wallet by its signature over a challenge and makes a key (specification §5.1). The
 * same wallet may register again: it stays one principal and gets another key.
 * @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired`, `invalid_signature`
 */
export async function register(
  pool: Pool,
  ledger: Ledger,
  { wallet, signature, nonce }: Registration,
): Promise<Registered> {
  const challenge = await readChallenge(pool, nonce)
  if (challenge.wallet !== null && challenge.wallet !== wallet) {
    throw new Fault('invalid_signature', 'The challenge was made for another wallet.')
  }
  const signer = await recoverMessageAddress({ message: challenge.message, signature }).catch(
    () => null,
  )
  if (signer?.toLowerCase() !== wallet) throw new Fault('invalid_signature')
  const apiKey = generateKey()
  const keyId = prefixedId('key')
  const principal = await principalOf(pool, wallet)
  const credits = await ledger.open(creditsOf(keyId), 'USDC', { home: principal.shard })
  await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(USE_CHALLENGE, [nonce])
    if (rowCount !== 1) throw new Fault('nonce_used')
    await client.query('INSERT INTO hub.api_key (id, principal, credits) VALUES ($1, $2, $3)', [
      keyId,
      principal.id,
      credits.id,
    ])
    await client.query(ADD_SECRET, [hashOf(apiKey), keyId, prefixOf(apiKey)])
  })
  return { apiKey, keyId, principal: principal.id }
}

export interface Principal {
  readonly id: string
  readonly shard: number
}

/** The principal of a wallet, made when it is new. */
async function principalOf(pool: Pool, wallet: string): Promise<Principal> {
  await pool.query(
    `INSERT INTO hub.principal (id, wallet_address, shard)
     SELECT $1, $2, (hashtext($2) & 2147483647) % count(*) FROM ledger.head
     ON CONFLICT (wallet_address) DO NOTHING`,
    [prefixedId('prn'), wallet],
  )
  const { rows } = await pool.query<Principal>(
    'SELECT id, shard FROM hub.principal WHERE wallet_address = $1',
    [wallet],
  )
  return rows[0]!
}
