import type { Pool, PoolClient } from 'pg'
import type { Hex } from 'viem'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import {
  type Challenge,
  type ChallengeIssuer,
  createChallenge,
  readUsableChallenge,
  USE_CHALLENGE,
} from '../identity/challenge.ts'
import type { KeyManager } from '../identity/sub-keys.ts'
import { assertSigned, type ContractVerifier } from '../identity/wallet-signature.ts'
import { emitToOwner, mailOwner } from './notify-owner.ts'
import { ensureProvider } from './providers.ts'

/** Payout address of a provider. Addresses in lower case. */
export interface PayoutAddress {
  readonly provider: string
  readonly owner: string
  /** Null if there is none; the provider is then not paid. */
  readonly address: Hex | null
  readonly since: Date | null
  /** Changed address that is not active yet; it blocks payouts. */
  readonly next: Hex | null
  readonly nextAt: Date | null
}

const SELECT = `
  SELECT d.provider, p.owner, d.address, d.since, d.next, d.next_at AS "nextAt"
  FROM hub.payout_destination d JOIN hub.provider p ON p.id = d.provider`

/**
 * Finds the payout address of an owner's provider.
 * @param provider by default the own provider of the first principal
 * @returns undefined if that principal has never sold anything
 * @throws Fault `not_found` if the provider belongs to another owner
 */
export async function findAddress(
  pool: Pool,
  owner: KeyManager,
  provider?: string,
): Promise<PayoutAddress | undefined> {
  const [first = ''] = owner
  const { rows } = await pool.query<PayoutAddress>(
    `${SELECT} WHERE CASE WHEN $1::text IS NULL THEN p.owner = $3
       ELSE d.provider = $1 AND p.owner = ANY ($2) END`,
    [provider ?? null, owner, first],
  )
  if (!rows[0] && provider !== undefined) {
    throw new Fault('not_found', 'You have no provider with this id.')
  }
  return rows[0]
}

/** Finds the payout address; creates the provider if new. @throws Fault `not_found` */
export async function ensureAddress(
  pool: Pool,
  owner: KeyManager,
  provider?: string,
): Promise<PayoutAddress> {
  const found = await findAddress(pool, owner, provider)
  const [first = ''] = owner
  return (
    found ??
    inTransaction(pool, async (client) => readAddress(client, await ensureProvider(client, first)))
  )
}

/**
 * Creates the challenge that a wallet signs to receive the payouts of a provider.
 * @param wallet in lower case
 * @param ownWallets platform wallets in lower case, which receive no payouts
 * @throws Fault `validation_failed`
 */
export async function createAddressChallenge(
  pool: Pool,
  site: ChallengeIssuer,
  { provider }: PayoutAddress,
  wallet: Hex,
  ownWallets: readonly string[],
): Promise<Challenge> {
  if (ownWallets.includes(wallet)) {
    throw new Fault('validation_failed', '/wallet_address: this is a wallet of the platform.')
  }
  return createChallenge(pool, site, wallet, {
    purpose: 'payout',
    statement: `Send the payouts of provider ${provider} to this wallet, in USDC on Base.`,
    terms: { provider },
  })
}

/**
 * Sets the wallet that signed as payout address: at once if there was none, else after the
 * cooldown, during which the owner is notified and may withdraw the change. Signing for the active
 * address withdraws a pending change.
 * @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired`, `invalid_signature`
 */
export async function setAddress(
  pool: Pool,
  owner: KeyManager,
  signed: { readonly nonce: string; readonly signature: Hex },
  { cooldownHours, contracts }: AddressRules,
): Promise<PayoutAddress> {
  const { message, wallet, terms } = await readUsableChallenge(pool, signed.nonce, 'payout')
  const { provider } = terms as { provider: string }
  const known = await ensureAddress(pool, owner, provider).catch(() => undefined)
  if (wallet === null || !known) throw new Fault('nonce_unknown')
  await assertSigned({ wallet, message, signature: signed.signature }, contracts)
  return inTransaction(pool, async (client) => {
    await client.query('SELECT FROM hub.provider WHERE id = $1 FOR NO KEY UPDATE', [provider])
    const used = await client.query(USE_CHALLENGE, [signed.nonce])
    if (used.rowCount !== 1) throw new Fault('nonce_used')
    const before = await readAddress(client, provider)
    await withdrawPending(client, provider)
    if (before.address !== wallet) {
      await client.query(
        `INSERT INTO hub.payout_address (provider, address, set_by, nonce, effective_at)
         VALUES ($1, $2, $3, $4, now() + make_interval(hours => $5))`,
        [provider, wallet, before.owner, signed.nonce, before.address === null ? 0 : cooldownHours],
      )
    }
    return notifyIfChanged(client, before)
  })
}

interface AddressRules {
  readonly cooldownHours: number
  /** Undefined if contract wallets are not supported. */
  readonly contracts: ContractVerifier | undefined
}

/** Withdraws a pending change of the address, if there is one. */
export const withdrawAddress = (pool: Pool, { provider }: PayoutAddress): Promise<PayoutAddress> =>
  inTransaction(pool, async (client) => {
    await client.query('SELECT FROM hub.provider WHERE id = $1 FOR NO KEY UPDATE', [provider])
    const before = await readAddress(client, provider)
    await withdrawPending(client, provider)
    return notifyIfChanged(client, before)
  })

const withdrawPending = (client: PoolClient, provider: string) =>
  client.query(
    `UPDATE hub.payout_address SET withdrawn_at = now()
     WHERE provider = $1 AND withdrawn_at IS NULL AND effective_at > now()`,
    [provider],
  )

async function readAddress(client: PoolClient, provider: string): Promise<PayoutAddress> {
  const { rows } = await client.query<PayoutAddress>(`${SELECT} WHERE d.provider = $1`, [provider])
  return rows[0]!
}

/** Notifies the owner if the address or the pending change differs from `before`. */
async function notifyIfChanged(client: PoolClient, before: PayoutAddress): Promise<PayoutAddress> {
  const after = await readAddress(client, before.provider)
  if (after.address === before.address && after.next === before.next) return after
  const { provider, owner, address, next, nextAt } = after
  await emitToOwner(client, owner, 'payout.address', {
    provider_id: provider,
    address,
    next_address: next,
    next_at: nextAt?.toISOString() ?? null,
  })
  await mailOwner(client, owner, 'payout-address', provider)
  return after
}
