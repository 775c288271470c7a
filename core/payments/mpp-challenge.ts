import { keccak256, toHex } from 'viem'
import { z } from 'zod'
import { canonicalJson } from '../crypto/canonical-json.ts'
import { tryParseJson } from '../json.ts'
import type { Hex } from './chain/asset.ts'

/** Parameters of a challenge of the HTTP authentication scheme `Payment`, by name. */
export type ChallengeParameters = Readonly<Record<string, string>>

/** Headers in which a seller may ask for the payment: others could change the request. */
const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set(['authorization', 'payment-authorization'])

/** A challenge of MPP for a payment on an EVM network, which is sent back unchanged. */
export const MppChallenge = z.object({
  id: z.string().min(1).max(1_024),
  realm: z.string().max(300),
  method: z.literal('evm'),
  intent: z.literal('charge'),
  request: z.string().max(16_384),
  description: z.string().optional(),
  digest: z.string().optional(),
  expires: z.iso.datetime({ offset: true }).optional(),
  header: z
    .string()
    .refine((name) => CREDENTIAL_HEADERS.has(name.toLowerCase()))
    .optional(),
  opaque: z.string().optional(),
})
export type MppChallenge = z.infer<typeof MppChallenge>

/** Longest header that is parsed, as clients of MPP limit a request in it. */
const HEADER_MAX = 32_768
/** A scheme, or a parameter with its value (RFC 9110 §11.6.1). */
const PART = /([!#$%&'*+.^_`|~\w-]+)(?:=(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/g

/** Parses the challenges of the scheme `Payment` in WWW-Authenticate, in their order. */
export function parseChallenges(
  header: string | readonly string[] | undefined,
): readonly ChallengeParameters[] {
  const text = [header ?? []].flat().join(', ')
  if (text.length > HEADER_MAX) return []
  const found: Record<string, string>[] = []
  let current: Record<string, string> | undefined
  for (const [, name = '', quoted, token] of text.matchAll(PART)) {
    const value = quoted?.replaceAll(/\\(.)/g, '$1') ?? token
    if (value !== undefined) {
      if (current) current[name.toLowerCase()] ??= value
      continue
    }
    current = name.toLowerCase() === 'payment' ? {} : undefined
    if (current) found.push(current)
  }
  return found
}

/** Nonce of the transfer that pays a challenge. */
export const challengeHash = ({ id, realm }: Readonly<Record<'id' | 'realm', string>>): Hex =>
  keccak256(toHex(`${id}${realm}`))

/** Encodes the terms of a challenge, its parameter `request`. */
export const encodeRequest = (request: unknown): string =>
  Buffer.from(canonicalJson(request)).toString('base64url')

/** Decodes the terms of a challenge; undefined if they are no JSON. */
export const decodeRequest = (encoded: string): unknown =>
  tryParseJson(Buffer.from(encoded, 'base64url').toString('utf8'))
