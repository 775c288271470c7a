import { getAddress } from 'viem'
import { z } from 'zod'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import {
  createAddressChallenge,
  ensureAddress,
  findAddress,
  type PayoutAddress,
  setAddress,
  withdrawAddress,
} from '../../../core/providers/payout-address.ts'
import {
  ChallengeView,
  nonce,
  type SigningDeps,
  showChallenge,
  signature,
  signatureFaults,
  walletAddress,
} from '../account/registration.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

export interface PayoutAddressDeps extends Pick<SigningDeps, 'pool' | 'site' | 'contracts'> {
  /** Platform wallets in lower case, which cannot receive payouts. */
  readonly ownWallets: readonly string[]
  readonly cooldownHours: number
}

const PayoutAddressView = z.object({
  provider_id: z.string().nullable().meta({ description: 'null: you have no sales yet.' }),
  address: z.string().nullable().meta({ description: 'null: payouts wait until you set one.' }),
  since: z.iso.datetime().nullable(),
  next_address: z
    .string()
    .nullable()
    .meta({ description: 'Pending change. No payouts until it takes effect.' }),
  next_at: z.iso.datetime().nullable(),
  network: z.string(),
  asset: z.literal('USDC'),
})

export type PayoutAddressJson = z.infer<typeof PayoutAddressView>

const providerField = z
  .string()
  .max(40)
  .optional()
  .meta({ description: 'Provider id, if you have several. Default: the account itself.' })

type Destination = Omit<PayoutAddress, 'provider' | 'owner'> & { readonly provider: string | null }

const UNSET = { provider: null, address: null, since: null, next: null, nextAt: null } as const

const showDestination = ({ provider, address, since, next, nextAt }: Destination = UNSET) => ({
  provider_id: provider,
  address: address && getAddress(address),
  since: since?.toISOString() ?? null,
  next_address: next && getAddress(next),
  next_at: nextAt?.toISOString() ?? null,
  network: USDC_BASE.network,
  asset: 'USDC',
})

/** Payout address of a provider. Only its owner can change it, signed by the new wallet. */
export const payoutAddressRoutes = (deps: PayoutAddressDeps): readonly AnyRoute[] => [
  route('GET /v1/provider/payout-address', {
    summary: 'Returns the payout address and any pending change.',
    auth: 'provider',
    query: z.strictObject({ provider: providerField }),
    response: { status: 200, schema: PayoutAddressView },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => ({
      body: showDestination(await findAddress(deps.pool, ownerOf(request), request.query.provider)),
    }),
  }),
  route('POST /v1/provider/payout-address/challenge', {
    summary: 'Creates the message that a wallet signs to receive the payouts of a provider.',
    auth: 'owner',
    body: z.strictObject({ wallet_address: walletAddress, provider: providerField }),
    response: { status: 201, schema: ChallengeView },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => {
      const { pool, site, ownWallets } = deps
      const { wallet_address: wallet, provider } = request.body
      const place = await ensureAddress(pool, ownerOf(request), provider)
      const challenge = await createAddressChallenge(pool, site, place, wallet, ownWallets)
      return { status: 201, body: showChallenge(challenge) }
    },
  }),
  ...changeRoutes(deps),
]

const changeRoutes = (deps: PayoutAddressDeps): readonly AnyRoute[] => [
  route('PUT /v1/provider/payout-address', {
    summary: 'Sets the payout address to the signing wallet. Changes take effect after a wait.',
    auth: 'owner',
    body: z.strictObject({ nonce, signature }),
    response: { status: 200, schema: PayoutAddressView },
    faults: ['root_key_required', 'nonce_used', ...signatureFaults(deps.contracts)],
    handle: async (request) => ({
      body: showDestination(await setAddress(deps.pool, ownerOf(request), request.body, deps)),
    }),
  }),
  route('DELETE /v1/provider/payout-address', {
    summary: 'Cancels a pending change of the payout address.',
    auth: 'owner',
    query: z.strictObject({ provider: providerField }),
    response: { status: 200, schema: PayoutAddressView },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => {
      const { pool } = deps
      const place = await findAddress(pool, ownerOf(request), request.query.provider)
      return { body: showDestination(place && (await withdrawAddress(pool, place))) }
    },
  }),
]
