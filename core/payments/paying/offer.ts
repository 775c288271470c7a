import type { EgressResponse } from '../../egress/http.ts'
import { isJsonObject, isShallow, type JsonObject, tryParseJson } from '../../json.ts'
import type { MppChallenge } from '../mpp-challenge.ts'
import { PaymentTermsError } from './terms-error.ts'

/** Offer in a seller's 402, parsed but not checked. */
export interface Offer {
  /** Version of x402: 2 is sent in a header, 1 in the body, where some sellers also send 2. */
  readonly version: 1 | 2
  /** `resource` of a version 2 offer, to be sent back unchanged. */
  readonly resource: unknown
  readonly extensions: unknown
  readonly entries: readonly JsonObject[]
  /** Challenges of MPP by their entry; undefined for an offer of x402. */
  readonly challenges?: ReadonlyMap<JsonObject, MppChallenge>
}

const HEADER = 'payment-required'
const ENTRIES_MAX = 100
const BASE64 = /^[A-Za-z\d+/]+={0,2}$/

/**
 * Parses the offer of a 402: the `PAYMENT-REQUIRED` header of version 2, else the JSON body, of
 * version 1 or 2 (x402 specification, transports-v2/http.md). A malformed header is refused even if
 * the body is readable, because there must be exactly one offer.
 * @throws PaymentTermsError `no_offer`, `duplicate_offer`, `malformed_offer`
 */
export function parseOffer(response: Pick<EgressResponse, 'headers' | 'body'>): Offer {
  const header = response.headers[HEADER]
  if (Array.isArray(header)) throw new PaymentTermsError('duplicate_offer')
  if (header === undefined) return toOffer(parseBody(response.body))
  const decoded = decodeJson(header)
  if (!isJsonObject(decoded) || decoded['x402Version'] === 1) {
    throw new PaymentTermsError('malformed_offer')
  }
  return toOffer(decoded)
}

function parseBody(body: Buffer): JsonObject {
  const parsed = parseOfferJson(body.toString('utf8'))
  if (!isJsonObject(parsed) || parsed['x402Version'] === undefined) {
    throw new PaymentTermsError('no_offer')
  }
  return parsed
}

function toOffer(envelope: JsonObject): Offer {
  const { x402Version: version, accepts, resource, extensions } = envelope
  const isKnown = version === 1 || version === 2
  if (!isKnown || !Array.isArray(accepts) || accepts.length > ENTRIES_MAX) {
    throw new PaymentTermsError('malformed_offer')
  }
  // Only a challenge of sign-in-with-x: a wallet may sign it, but there is nothing to pay.
  if (accepts.length === 0) throw new PaymentTermsError('no_offer')
  const entries = accepts.filter(isJsonObject)
  if (entries.length === 0) throw new PaymentTermsError('malformed_offer')
  return { version, resource, extensions, entries }
}

/** Decodes a base64 JSON header; undefined if it is malformed or nested too deeply. */
export function decodeJson(header: string): unknown {
  if (!BASE64.test(header)) return undefined
  return parseOfferJson(Buffer.from(header, 'base64').toString('utf8'))
}

/** Nesting that can be sent back: to serialize a very deep one overflows the stack. */
const DEPTH_MAX = 100

function parseOfferJson(text: string): unknown {
  const value = tryParseJson(text)
  return isShallow(value, DEPTH_MAX) ? value : undefined
}
