import type { Pool, PoolClient } from 'pg'
import { getAddress, type Hex } from 'viem'
import { type Actor, withAudit } from '../audit/record.ts'
import { Fault } from '../errors.ts'
import {
  type Challenge,
  type ChallengeIssuer,
  createChallenge,
  readUsableChallenge,
} from '../identity/challenge.ts'
import type { KeyManager } from '../identity/sub-keys.ts'
import { assertSigned, type ContractVerifier } from '../identity/wallet-signature.ts'
import { earningsPrefix } from '../ledger/postings.ts'
import {
  changeAddress,
  changeAddressIn,
  closeRequest,
  findAddress,
  type PayoutAddress,
  type SignedNonce,
  useNonce,
  withdrawPending,
} from './payout-address.ts'

/** Requested change of a payout address, open until it is authorized, canceled or replaced. */
interface OpenRequest {
  readonly id: bigint
  readonly address: Hex
  readonly nonce: string
}

async function findRequest(
  client: Pick<Pool, 'query'>,
  { provider, owner }: PayoutAddress,
): Promise<OpenRequest> {
  const { rows } = await client.query<OpenRequest>(
    `SELECT id, address, nonce FROM hub.payout_address_request
     WHERE provider = $1 AND requested_by = $2 AND closed_at IS NULL`,
    [provider, owner],
  )
  if (!rows[0]) throw new Fault('not_found', 'No change of the payout address is requested.')
  return rows[0]
}

/**
 * Creates the challenge by which the current wallet authorizes the requested change.
 * @throws Fault `not_found` if none is requested
 */
export async function createChangeChallenge(
  pool: Pool,
  site: ChallengeIssuer,
  place: PayoutAddress | undefined,
): Promise<Challenge> {
  const { address, provider } = place ?? {}
  if (!place || !address || !provider) throw new Fault('not_found', 'You have no payout address.')
  const request = await findRequest(pool, place)
  return createChallenge(pool, site, address, {
    purpose: 'payout-change',
    statement:
      `Send the payouts of provider ${provider} to ${getAddress(request.address)} instead of ` +
      'this wallet, in USDC on Base.',
    terms: { provider, request: String(request.id) },
  })
}

interface ChangeRules {
  readonly cooldownHours: number
  /** Undefined if contract wallets are not supported. */
  readonly contracts: ContractVerifier | undefined
}

/**
 * Authorizes the requested change by a signature of the current wallet. It takes effect after the
 * cooldown, during which the owner is notified and may withdraw it.
 * @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired`, `invalid_signature`, `not_found`
 */
export async function authorizeChange(
  pool: Pool,
  owner: KeyManager,
  signed: SignedNonce,
  { cooldownHours, contracts }: ChangeRules,
): Promise<PayoutAddress> {
  const { message, wallet, terms } = await readUsableChallenge(pool, signed.nonce, 'payout-change')
  const { provider, request } = terms as { provider: string; request: string }
  const known = await findAddress(pool, owner, provider).catch(() => undefined)
  if (wallet === null || !known) throw new Fault('nonce_unknown')
  await assertSigned({ wallet, message, signature: signed.signature }, contracts)
  return changeAddress(pool, provider, async (client, before) => {
    const open = await findRequest(client, before)
    if (before.address !== wallet || String(open.id) !== request) throw new Fault('nonce_unknown')
    await useNonce(client, signed.nonce)
    await insertChange(client, before, open, { hours: cooldownHours, nonce: signed.nonce })
  })
}

/**
 * Authorizes a requested change for an owner who has lost the current wallet, after a longer wait.
 * @param address lower case; the requested one, as the administrator saw it
 * @throws Fault `not_found`, `own_account`
 */
export const recoverAddress = (
  pool: Pool,
  by: Actor & { readonly principal: string },
  { provider, address }: { readonly provider: string; readonly address: string },
  { hours, reason }: { readonly hours: number; readonly reason: string },
): Promise<PayoutAddress> =>
  withAudit(pool, by, reason, (auditClient, note) =>
    changeAddressIn(auditClient, provider, async (client, before) => {
      const open = await findRequest(client, before)
      if (open.address !== address) {
        throw new Fault('not_found', 'No change to this address is requested.')
      }
      const { rows } = await client.query<{ own: string | null }>(
        'SELECT hub.own_subject($1, ARRAY[$2]) AS own',
        [by.principal, earningsPrefix(provider)],
      )
      if (rows[0]!.own !== null) throw new Fault('own_account')
      await insertChange(client, before, open, { hours, recoverer: by.principal })
      note({
        act: 'payout.recover',
        subject: provider,
        before: { address: before.address },
        after: { address, wait_hours: hours },
      })
    }),
  )

/** Makes an authorized change pending, in place of an earlier one. */
async function insertChange(
  client: PoolClient,
  { provider, owner }: PayoutAddress,
  request: OpenRequest,
  by: { readonly hours: number; readonly nonce?: string; readonly recoverer?: string },
): Promise<void> {
  await withdrawPending(client, provider)
  await client.query(
    `INSERT INTO hub.payout_address
       (provider, address, set_by, nonce, effective_at, request, change_nonce, recoverer)
     VALUES ($1, $2, $3, $4, now() + make_interval(hours => $5), $6, $7, $8)`,
    [
      provider,
      request.address,
      owner,
      request.nonce,
      by.hours,
      request.id,
      by.nonce ?? null,
      by.recoverer ?? null,
    ],
  )
  await closeRequest(client, provider)
}

/** Requested change of a provider, as an administrator sees it. */
export interface RequestedChange {
  readonly provider: string
  /** Email address or wallet. */
  readonly owner: string
  readonly address: Hex
  readonly requested: Hex
  readonly requestedAt: Date
}

/** Lists requested changes that the current wallet has not authorized, oldest first. */
export async function listRequestedChanges(pool: Pool): Promise<readonly RequestedChange[]> {
  // Named, because planning it takes ten times as long as running it.
  const { rows } = await pool.query<RequestedChange>({
    name: 'payout-addresses.requested',
    text: `SELECT r.provider, coalesce(h.email, o.wallet_address) AS owner, d.address,
       r.address AS requested, r.requested_at AS "requestedAt"
     FROM hub.payout_address_request r
     JOIN hub.provider p ON p.id = r.provider AND p.owner = r.requested_by
     JOIN hub.payout_destination d ON d.provider = p.id
     JOIN hub.principal o ON o.id = p.owner LEFT JOIN hub.person h ON h.principal = o.id
     WHERE r.closed_at IS NULL AND d.address IS NOT NULL ORDER BY r.id LIMIT 500`,
  })
  return rows
}
