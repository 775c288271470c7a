import { getAddress } from 'viem'
import { z } from 'zod'
import type { Config } from '../../../core/config.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { authorizeChange, createChangeChallenge } from '../../../core/providers/address-change.ts'
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
  SignedChallenge,
  type SigningDeps,
  showChallenge,
  signatureFaults,
  walletAddress,
} from '../account/registration.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

export interface PayoutAddressDeps extends Pick<SigningDeps, 'pool' | 'site' | 'contracts'> {
  /** Platform wallets in lower case, which cannot receive payouts. */
  readonly ownWallets: readonly string[]
  readonly payouts: Pick<Config['payouts'], 'cooldownHours'>
}

const address = z.string()

export const PayoutAddressView = z.object({
  provider_id: z.string().nullable().meta({ description: 'null: you have no sales yet.' }),
  address: z.string().nullable().meta({ description: 'null: payouts wait until you set one.' }),
  since: z.iso.datetime().nullable(),
  next_address: z
    .string()
    .nullable()
    .meta({ description: 'Pending change. No payouts until it takes effect.' }),
  next_at: z.iso.datetime().nullable(),
  requested_address: address.nullable().meta({
    description: 'Requested change: sign for it with the current wallet (…/authorization).',
  }),
  requested_at: z.iso.datetime().nullable(),
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

const UNSET = {
  provider: null,
  address: null,
  since: null,
  next: null,
  nextAt: null,
  requested: null,
  requestedAt: null,
} as const

export const showDestination = (place: Destination = UNSET): PayoutAddressJson => ({
  provider_id: place.provider,
  address: place.address && getAddress(place.address),
  since: place.since?.toISOString() ?? null,
  next_address: place.next && getAddress(place.next),
  next_at: place.nextAt?.toISOString() ?? null,
  requested_address: place.requested && getAddress(place.requested),
  requested_at: place.requestedAt?.toISOString() ?? null,
  network: USDC_BASE.network,
  asset: 'USDC',
})

/** Payout address of a provider. Its owner changes it, signed by the new and the current wallet. */
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
    repeatable: true,
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
  ...authorizationRoutes(deps),
]

const authorizationRoutes = (deps: PayoutAddressDeps): readonly AnyRoute[] => [
  route('POST /v1/provider/payout-address/authorization/challenge', {
    summary: 'Creates the message that the current wallet signs to authorize the requested change.',
    auth: 'owner',
    body: z.strictObject({ provider: providerField }),
    repeatable: true,
    response: { status: 201, schema: ChallengeView },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => {
      const place = await findAddress(deps.pool, ownerOf(request), request.body.provider)
      const challenge = await createChangeChallenge(deps.pool, deps.site, place)
      return { status: 201, body: showChallenge(challenge) }
    },
  }),
  route('POST /v1/provider/payout-address/authorization', {
    summary: 'Authorizes the requested change. It takes effect after a wait, and can be canceled.',
    auth: 'owner',
    body: SignedChallenge,
    response: { status: 200, schema: PayoutAddressView },
    faults: ['root_key_required', 'not_found', 'nonce_used', ...signatureFaults(deps.contracts)],
    handle: async (request) => {
      const { cooldownHours } = deps.payouts
      const rules = { cooldownHours, contracts: deps.contracts }
      const place = await authorizeChange(deps.pool, ownerOf(request), request.body, rules)
      return { body: showDestination(place) }
    },
  }),
]

const changeRoutes = (deps: PayoutAddressDeps): readonly AnyRoute[] => [
  route('PUT /v1/provider/payout-address', {
    summary: 'Sets the first payout address to the signing wallet, or requests a change to it.',
    auth: 'owner',
    body: SignedChallenge,
    response: { status: 200, schema: PayoutAddressView },
    faults: ['root_key_required', 'nonce_used', ...signatureFaults(deps.contracts)],
    handle: async (request) => ({
      body: showDestination(
        await setAddress(deps.pool, ownerOf(request), request.body, deps.contracts),
      ),
    }),
  }),
  route('DELETE /v1/provider/payout-address', {
    summary: 'Cancels a requested or pending change of the payout address.',
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
