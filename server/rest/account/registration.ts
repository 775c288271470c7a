import type { Pool } from 'pg'
import { getAddress, isAddress } from 'viem'
import { z } from 'zod'
import type { FaultCode } from '../../../core/errors.ts'
import {
  type Challenge,
  type ChallengeIssuer,
  createChallenge,
} from '../../../core/identity/challenge.ts'
import { registerWallet } from '../../../core/identity/registration.ts'
import type { ContractVerifier } from '../../../core/identity/wallet-signature.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { RateLimits } from '../../../core/usage/rate-limit.ts'
import { type AnyRoute, route } from '../route.ts'

/** Wallet address. A mixed-case address must have a valid checksum (EIP-55). */
export const walletAddress = z
  .string()
  .refine(
    (text) => isAddress(text, { strict: /[a-f]/.test(text) && /[A-F]/.test(text.slice(2)) }),
    {
      message: 'must be a wallet address: 0x and 40 hex digits, with valid checksum if mixed case',
    },
  )
  .transform((text) => text.toLowerCase() as `0x${string}`)

export const nonce = z.string().min(16).max(64)

/** Faults of any route that accepts a signed challenge. */
export const signatureFaults = (contracts: ContractVerifier | undefined): readonly FaultCode[] => [
  'nonce_unknown',
  'nonce_expired',
  'invalid_signature',
  ...(contracts ? (['chain_unavailable'] as const) : []),
]

export const signature = z
  .string()
  .regex(
    /^0x(?:[0-9a-fA-F]{130}|(?:[0-9a-fA-F]{2}){96,8192})$/,
    'must be a personal_sign signature: 0x and 130 hex digits, or 96 to 8,192 bytes by a contract',
  )
  .transform((text) => text as `0x${string}`)

/** Body of a route that takes the signature of a challenge. */
export const SignedChallenge = z.strictObject({ nonce, signature })

export const ChallengeView = z.object({
  nonce: z.string(),
  message: z.string().meta({ description: 'Sign this exact text with personal_sign.' }),
  expires_at: z.iso.datetime(),
})

const Registration = z.object({
  api_key: z.string().meta({ description: 'Shown only once. Send it as a Bearer token.' }),
  key_id: z.string(),
  wallet_address: z.string(),
})

export const showChallenge = ({ nonce, message, expiresAt }: Challenge) => ({
  nonce,
  message,
  expires_at: expiresAt.toISOString(),
})

/** Dependencies of routes that create and verify wallet signatures. */
export interface SigningDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly limits: RateLimits
  readonly site: ChallengeIssuer
  /** Verifies signatures of contract wallets; if undefined, these are rejected. */
  readonly contracts: ContractVerifier | undefined
}

export const registrationRoutes = ({
  pool,
  ledger,
  limits,
  site,
  contracts,
}: SigningDeps): readonly AnyRoute[] => [
  route('GET /v1/register/challenge', {
    summary: 'Creates a single-use nonce and the message to sign with a wallet.',
    auth: 'none',
    unlimited: true,
    query: z.strictObject({ wallet_address: walletAddress.optional() }),
    response: { status: 200, schema: ChallengeView },
    faults: ['validation_failed', 'rate_limited'],
    handle: async ({ query, ip }) => {
      const { headers } = await limits.address(ip)
      const challenge = await createChallenge(pool, site, query.wallet_address)
      return { headers, body: showChallenge(challenge) }
    },
  }),
  route('POST /v1/register', {
    summary: 'Registers a wallet by its signature and returns an API key.',
    auth: 'none',
    unlimited: true,
    body: z.strictObject({
      wallet_address: walletAddress,
      signature,
      nonce,
      message: z.string().max(4_000).optional().meta({
        description: 'Message that was signed. Not needed: the hub has it.',
      }),
    }),
    response: { status: 201, location: '/v1/keys/{key_id}', schema: Registration },
    faults: [
      ...signatureFaults(contracts),
      'nonce_used',
      'validation_failed',
      'registration_rate_limited',
    ],
    handle: async ({ body, ip }) => {
      const { headers } = await limits.registration(ip)
      const { wallet_address: wallet, signature, nonce } = body
      const made = await registerWallet(pool, ledger, { wallet, signature, nonce }, contracts)
      const { apiKey: api_key, keyId: key_id } = made
      return { status: 201, headers, body: { api_key, key_id, wallet_address: getAddress(wallet) } }
    },
  }),
]
