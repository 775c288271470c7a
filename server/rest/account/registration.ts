import type { Pool } from 'pg'
import { getAddress, isAddress } from 'viem'
import { z } from 'zod'
import type { FaultCode } from '../../../core/errors.ts'
import { register } from '../../../core/identity/agents.ts'
import { type Challenge, createChallenge, type Site } from '../../../core/identity/challenge.ts'
import type { ContractWallets } from '../../../core/identity/wallet-signature.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { RateLimits } from '../../../core/usage/rate-limit.ts'
import { type AnyRoute, route } from '../route.ts'

/** An address in any case; one in mixed case must have the right checksum (EIP-55). */
export const walletAddress = z
  .string()
  .refine(
    (text) => isAddress(text, { strict: /[a-f]/.test(text) && /[A-F]/.test(text.slice(2)) }),
    {
      message:
        'not a wallet address: 0x and 40 hex digits, with the right checksum if in mixed case',
    },
  )
  .transform((text) => text.toLowerCase() as `0x${string}`)

export const nonce = z.string().min(16).max(64)

/** How a signed challenge can be refused, besides what the route itself refuses. */
export const signedFaults = (contracts: ContractWallets | undefined): readonly FaultCode[] => [
  'nonce_unknown',
  'nonce_expired',
  'invalid_signature',
  ...(contracts ? (['chain_unavailable'] as const) : []),
]

export const signature = z
  .string()
  .regex(
    /^0x(?:[0-9a-fA-F]{130}|(?:[0-9a-fA-F]{2}){96,8192})$/,
    'not a personal_sign signature: 0x and 130 hex digits; contracts may have 96 to 8,192 bytes',
  )
  .transform((text) => text as `0x${string}`)

export const ChallengeBody = z.object({
  nonce: z.string(),
  message: z.string().meta({ description: 'Sign exactly this text with personal_sign.' }),
  expires_at: z.iso.datetime(),
})

const Registered = z.object({
  api_key: z.string().meta({ description: 'Shown this once. Send it as a Bearer token.' }),
  key_id: z.string(),
  wallet_address: z.string(),
})

export const showChallenge = ({ nonce, message, expiresAt }: Challenge) => ({
  nonce,
  message,
  expires_at: expiresAt.toISOString(),
})

/** What wallets sign, and who is asked whether they did. */
export interface SigningPorts {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly limits: RateLimits
  readonly site: Site
  /** Undefined: a wallet that is a contract cannot sign here. */
  readonly contracts: ContractWallets | undefined
}

export const registrationRoutes = ({
  pool,
  ledger,
  limits,
  site,
  contracts,
}: SigningPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/register/challenge',
    summary: 'A single-use nonce and the message to sign with a wallet.',
    auth: 'none',
    unlimited: true,
    query: z.strictObject({ wallet_address: walletAddress.optional() }),
    answer: { status: 200, schema: ChallengeBody },
    faults: ['validation_failed', 'rate_limited'],
    handle: async ({ query, ip }) => {
      const { headers } = await limits.address(ip)
      const challenge = await createChallenge(pool, site, query.wallet_address)
      return { headers, body: showChallenge(challenge) }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/register',
    summary: 'Registers a wallet by its signature and answers an API key at once.',
    auth: 'none',
    unlimited: true,
    body: z.strictObject({ wallet_address: walletAddress, signature, nonce }),
    answer: { status: 201, location: '/v1/keys/{key_id}', schema: Registered },
    faults: [
      ...signedFaults(contracts),
      'nonce_used',
      'validation_failed',
      'registration_rate_limited',
    ],
    handle: async ({ body, ip }) => {
      const { headers } = await limits.registration(ip)
      const { wallet_address: wallet, signature, nonce } = body
      const made = await register(pool, ledger, { wallet, signature, nonce }, contracts)
      const { apiKey: api_key, keyId: key_id } = made
      return { status: 201, headers, body: { api_key, key_id, wallet_address: getAddress(wallet) } }
    },
  }),
]
