import { z } from 'zod'
import type { HeaderValues } from '../../egress/headers.ts'
import type { JsonObject } from '../../json.ts'
import { USDC_BASE } from '../chain/asset.ts'
import { decodeRequest, MppChallenge, parseChallenges } from '../mpp-challenge.ts'
import type { Offer } from './offer.ts'

/** Seconds allowed for a payment if its challenge does not expire. */
const DEFAULT_SECONDS = 300
const MS_PER_SECOND = 1_000n
const CHALLENGES_MAX = 20

/** Terms of the method `evm`, intent `charge`. */
const Request = z.object({
  amount: z.string(),
  currency: z.string(),
  recipient: z.string(),
  methodDetails: z.object({
    chainId: z.int(),
    credentialTypes: z.array(z.string()).default(['authorization']),
    splits: z.array(z.unknown()).default([]),
  }),
})

/**
 * Reads the challenges of MPP in a 402 as an offer with the entries that x402 would have, so that
 * the same rules judge both. Undefined if there is none for a payment on an EVM network.
 */
export function parseMppOffer(
  { headers }: { readonly headers: HeaderValues },
  now: Date,
): Offer | undefined {
  const challenges = new Map<JsonObject, MppChallenge>()
  for (const parameters of parseChallenges(headers['www-authenticate']).slice(0, CHALLENGES_MAX)) {
    const { data: challenge } = MppChallenge.safeParse(parameters)
    const { data: terms } = Request.safeParse(challenge && decodeRequest(challenge.request))
    if (challenge && terms) challenges.set(entryOf(challenge, terms, now), challenge)
  }
  if (challenges.size === 0) return undefined
  const entries = [...challenges.keys()]
  return { version: 2, resource: undefined, extensions: undefined, entries, challenges }
}

/** Terms of a challenge as an entry of x402. The domain of the token is that of the hub's table. */
function entryOf(
  { realm, expires }: MppChallenge,
  { amount, currency, recipient, methodDetails }: z.infer<typeof Request>,
  now: Date,
): JsonObject {
  const { chainId, credentialTypes, splits } = methodDetails
  const isTransfer = credentialTypes.includes('authorization') && splits.length === 0
  return {
    scheme: isTransfer ? 'exact' : 'charge',
    network: `eip155:${chainId}`,
    amount,
    asset: currency,
    payTo: recipient,
    maxTimeoutSeconds: secondsUntil(expires, now),
    extra: { name: USDC_BASE.name, version: USDC_BASE.version },
    ...(isHost(realm) && { resource: `https://${realm}` }),
  }
}

function secondsUntil(expires: string | undefined, now: Date): number {
  if (expires === undefined) return DEFAULT_SECONDS
  return Number(BigInt(Date.parse(expires) - now.getTime()) / MS_PER_SECOND)
}

/** A realm may be any text. One that names a host must be the requested one. */
const isHost = (realm: string): boolean =>
  realm === 'localhost' || (/[.:]/.test(realm) && !/[\s/]/.test(realm))
