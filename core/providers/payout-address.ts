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
  /** Requested change that the current wallet has not signed for. */
  readonly requested: Hex | null
  readonly requestedAt: Date | null
}

const SELECT = `
  SELECT d.provider, p.owner, d.address, d.since, d.next, d.next_at AS "nextAt",
    r.address AS requested, r.requested_at AS "requestedAt"
  FROM hub.payout_destination d JOIN hub.provider p ON p.id = d.provider
  LEFT JOIN hub.payout_address_request r ON r.provider = p.id AND r.requested_by = p.owner
    AND r.closed_at IS NULL`

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
 * Sets the wallet that signed as payout address, if there was none. Otherwise it becomes a request,
 * which the current wallet authorizes (`authorizeChange`). Signing for the active address cancels
 * requests and pending changes.
 * @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired`, `invalid_signature`
 */
export async function setAddress(
  pool: Pool,
  owner: KeyManager,
  signed: SignedNonce,
  contracts: ContractVerifier | undefined,
): Promise<PayoutAddress> {
  const { message, wallet, terms } = await readUsableChallenge(pool, signed.nonce, 'payout')
  const { provider } = terms as { provider: string }
  const known = await ensureAddress(pool, owner, provider).catch(() => undefined)
  if (wallet === null || !known) throw new Fault('nonce_unknown')
  await assertSigned({ wallet, message, signature: signed.signature }, contracts)
  return changeAddress(pool, provider, async (client, before) => {
    await useNonce(client, signed.nonce)
    const values = [provider, wallet, before.owner, signed.nonce]
    if (before.address === null) {
      await client.query(
        `INSERT INTO hub.payout_address (provider, address, set_by, nonce, effective_at)
         VALUES ($1, $2, $3, $4, now())`,
        values,
      )
      return
    }
    await closeRequest(client, provider)
    if (before.address === wallet) await withdrawPending(client, provider)
    else {
      await client.query(
        `INSERT INTO hub.payout_address_request (provider, address, requested_by, nonce)
         VALUES ($1, $2, $3, $4)`,
        values,
      )
    }
  })
}

/** Nonce of a challenge, and the signature of its message. */
export interface SignedNonce {
  readonly nonce: string
  readonly signature: Hex
}

/** Marks a nonce used, in the transaction of its effect. @throws Fault `nonce_used` */
export async function useNonce(client: PoolClient, nonce: string): Promise<void> {
  const used = await client.query(USE_CHALLENGE, [nonce])
  if (used.rowCount !== 1) throw new Fault('nonce_used')
}

/** Changes the address of a provider in one transaction, and notifies the owner if it differs. */
export const changeAddress = (
  pool: Pool,
  provider: string,
  change: (client: PoolClient, before: PayoutAddress) => Promise<void>,
): Promise<PayoutAddress> =>
  inTransaction(pool, (client) => changeAddressIn(client, provider, change))

/** As `changeAddress`, in the transaction of `client`. */
export async function changeAddressIn(
  client: PoolClient,
  provider: string,
  change: (client: PoolClient, before: PayoutAddress) => Promise<void>,
): Promise<PayoutAddress> {
  await client.query('SELECT FROM hub.provider WHERE id = $1 FOR NO KEY UPDATE', [provider])
  const before = await readAddress(client, provider)
  await change(client, before)
  return notifyIfChanged(client, before)
}

/** Withdraws a pending or requested change of the address, if there is one. */
export const withdrawAddress = (pool: Pool, { provider }: PayoutAddress): Promise<PayoutAddress> =>
  changeAddress(pool, provider, async (client) => {
    await withdrawPending(client, provider)
    await closeRequest(client, provider)
  })

export const withdrawPending = (client: PoolClient, provider: string) =>
  client.query(
    `UPDATE hub.payout_address SET withdrawn_at = now()
     WHERE provider = $1 AND withdrawn_at IS NULL AND effective_at > now()`,
    [provider],
  )

export const closeRequest = (client: PoolClient, provider: string) =>
  client.query(
    `UPDATE hub.payout_address_request SET closed_at = now()
     WHERE provider = $1 AND closed_at IS NULL`,
    [provider],
  )

async function readAddress(client: PoolClient, provider: string): Promise<PayoutAddress> {
  const found = await findProviderAddress(client, provider)
  if (!found) throw new Fault('not_found', 'No provider has this id.')
  return found
}

/** Finds the payout address of a provider of any owner. */
export async function findProviderAddress(
  on: Pick<Pool, 'query'>,
  provider: string,
): Promise<PayoutAddress | undefined> {
  const { rows } = await on.query<PayoutAddress>(`${SELECT} WHERE d.provider = $1`, [provider])
  return rows[0]
}

/** Notifies the owner if the address, a pending or a requested change differs from `before`. */
async function notifyIfChanged(client: PoolClient, before: PayoutAddress): Promise<PayoutAddress> {
  const after = await readAddress(client, before.provider)
  const { provider, owner, address, next, nextAt, requested } = after
  const isSame = address === before.address && next === before.next
  if (isSame && requested === before.requested) return after
  await emitToOwner(client, owner, 'payout.address', {
    provider_id: provider,
    address,
    next_address: next,
    next_at: nextAt?.toISOString() ?? null,
    requested_address: requested,
  })
  await mailOwner(client, owner, 'payout-address', provider)
  return after
}
