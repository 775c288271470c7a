import { getAddress } from 'viem'
import { z } from 'zod'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import {
  askForAddress,
  type Destination,
  destinationOf,
  findDestination,
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
  /** Wallets of the house, in lower case: none of them is paid out. */
  readonly ownWallets: readonly string[]
  readonly cooldownHours: number
}

const PayoutAddressView = z.object({
  provider_id: z.string().nullable().meta({ description: 'null: you have sold nothing yet.' }),
  address: z.string().nullable().meta({ description: 'null: payouts wait until there is one.' }),
  since: z.iso.datetime().nullable(),
  next_address: z
    .string()
    .nullable()
    .meta({ description: 'A change that waits; until then nothing is paid out.' }),
  next_at: z.iso.datetime().nullable(),
  network: z.string(),
  asset: z.literal('USDC'),
})

export type PayoutAddressJson = z.infer<typeof PayoutAddressView>

const providerField = z
  .string()
  .max(40)
  .optional()
  .meta({ description: 'Of several of an account; left out: that of the account itself.' })

type PayoutDestination = Omit<Destination, 'provider' | 'owner'> & {
  readonly provider: string | null
}

const NO_DESTINATION = {
  provider: null,
  address: null,
  since: null,
  next: null,
  nextAt: null,
} as const

const showDestination = ({
  provider,
  address,
  since,
  next,
  nextAt,
}: PayoutDestination = NO_DESTINATION) => ({
  provider_id: provider,
  address: address && getAddress(address),
  since: since?.toISOString() ?? null,
  next_address: next && getAddress(next),
  next_at: nextAt?.toISOString() ?? null,
  network: USDC_BASE.network,
  asset: 'USDC',
})

/** Where a provider is paid. Only its owner changes that, with the signature of the new wallet. */
export const payoutAddressRoutes = (ports: PayoutAddressDeps): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/provider/payout-address',
    summary: 'Where payouts go, and where from when on.',
    auth: 'provider',
    query: z.strictObject({ provider: providerField }),
    response: { status: 200, schema: PayoutAddressView },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => ({
      body: showDestination(
        await findDestination(ports.pool, ownerOf(request), request.query.provider),
      ),
    }),
  }),
  route({
    method: 'POST',
    path: '/v1/provider/payout-address/challenge',
    summary: 'The message that a wallet signs to take the payouts of a provider.',
    auth: 'owner',
    body: z.strictObject({ wallet_address: walletAddress, provider: providerField }),
    response: { status: 201, schema: ChallengeView },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => {
      const { pool, site, ownWallets } = ports
      const { wallet_address: wallet, provider } = request.body
      const place = await destinationOf(pool, ownerOf(request), provider)
      const challenge = await askForAddress(pool, site, place, wallet, ownWallets)
      return { status: 201, body: showChallenge(challenge) }
    },
  }),
  ...changeRoutes(ports),
]

const changeRoutes = (ports: PayoutAddressDeps): readonly AnyRoute[] => [
  route({
    method: 'PUT',
    path: '/v1/provider/payout-address',
    summary:
      'Sends payouts to the wallet that has signed: at once the first time, later after a wait.',
    auth: 'owner',
    body: z.strictObject({ nonce, signature }),
    response: { status: 200, schema: PayoutAddressView },
    faults: ['root_key_required', 'nonce_used', ...signatureFaults(ports.contracts)],
    handle: async (request) => ({
      body: showDestination(await setAddress(ports.pool, ownerOf(request), request.body, ports)),
    }),
  }),
  route({
    method: 'DELETE',
    path: '/v1/provider/payout-address',
    summary: 'Takes back a change of the payout address that waits.',
    auth: 'owner',
    query: z.strictObject({ provider: providerField }),
    response: { status: 200, schema: PayoutAddressView },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => {
      const { pool } = ports
      const place = await findDestination(pool, ownerOf(request), request.query.provider)
      return { body: showDestination(place && (await withdrawAddress(pool, place))) }
    },
  }),
]
