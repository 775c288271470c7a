import { z } from 'zod'
import { type Hex, USDC_BASE } from '../chain/asset.ts'
import { envelopeV1 } from './version-1.ts'

/** A signed payment (scheme `exact`, EIP-3009), well-formed but not verified. */
export type Payment = z.infer<typeof Payment>

/** Identity of an authorization, all in lower case. */
export interface PaymentKey {
  readonly network: string
  readonly asset: string
  readonly payer: string
  readonly nonce: string
}

export type BadPaymentReason =
  | 'duplicate_header'
  | 'too_large'
  | 'malformed_base64'
  | 'malformed_json'
  | 'malformed_payload'
  | 'malformed_identifier'

/** Malformed PAYMENT-SIGNATURE or X-PAYMENT. The message may be shown to the payer. */
export class BadPayment extends Error {
  override readonly name = 'BadPayment'
  readonly reason: BadPaymentReason
  constructor(reason: BadPaymentReason, message: string, cause?: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}

const HEADER_MAX = 16_384
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

const hex = (pattern: RegExp) =>
  z
    .string()
    .regex(pattern)
    .transform((text) => text as Hex)
const address = hex(/^0x[0-9a-fA-F]{40}$/)
const bytes32 = hex(/^0x[0-9a-fA-F]{64}$/)
const bytes = hex(/^0x(?:[0-9a-fA-F]{2})+$/)
const caip2 = z
  .string()
  .regex(/^[^:]+:[^:]+$/)
  .transform((text) => text as `${string}:${string}`)
const uint256 = z.string().regex(/^(?:0|[1-9]\d{0,77})$/)

// Strict, because a facilitator chooses the kind of transfer by the members of the payload: an
// unchecked one (`permit2Authorization`) could make another transfer than the one checked here.
const payload = z.strictObject({
  signature: bytes,
  authorization: z.strictObject({
    from: address,
    to: address,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: bytes32,
  }),
})
const Payment = z.looseObject({
  /** Payments of version 1 repeat no terms: `accepted` is what the signed transfer says. */
  x402Version: z.literal([1, 2]),
  accepted: z.looseObject({
    scheme: z.string(),
    network: caip2,
    asset: address,
    amount: uint256,
    payTo: address,
    maxTimeoutSeconds: z.number().int().positive(),
    extra: z.record(z.string(), z.unknown()),
  }),
  payload,
})
const PaymentV2 = Payment.extend({ x402Version: z.literal(2) })
const PaymentV1 = z.looseObject({ ...envelopeV1, payload })

/**
 * Parses PAYMENT-SIGNATURE, or X-PAYMENT of version 1.
 * @throws BadPayment unless one payment of at most 16 KiB
 */
export function readPayment(header: string | readonly string[]): Payment {
  const [value = '', ...more] = [header].flat()
  if (more.length > 0 || value.includes(',')) {
    throw new BadPayment('duplicate_header', 'The payment must be sent once.')
  }
  if (value.length > HEADER_MAX) {
    throw new BadPayment('too_large', `The payment must not exceed ${HEADER_MAX} bytes.`)
  }
  if (!BASE64.test(value)) throw new BadPayment('malformed_base64', 'The payment must be base64.')
  const json = parseJson(Buffer.from(value, 'base64').toString('utf8'))
  const version1 = PaymentV1.safeParse(json)
  if (version1.success) return withTransferTerms(version1.data)
  const parsed = PaymentV2.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new BadPayment(
    'malformed_payload',
    `The payment is malformed at ${issue?.path.join('.') || 'the top level'}.`,
  )
}

const withTransferTerms = ({ scheme, payload }: z.infer<typeof PaymentV1>): Payment => ({
  x402Version: 1,
  accepted: {
    scheme,
    network: USDC_BASE.network,
    asset: USDC_BASE.address,
    amount: payload.authorization.value,
    payTo: payload.authorization.to,
    maxTimeoutSeconds: 1,
    extra: {},
  },
  payload,
})

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, (key, value) => {
      if (FORBIDDEN_KEYS.has(key)) throw new SyntaxError(`forbidden key ${key}`)
      return value
    })
  } catch (error) {
    throw new BadPayment('malformed_json', 'The payment must be base64-encoded JSON.', error)
  }
}

/** Identifies the authorization. Another payment with the same key is a replay. */
export function paymentKey({ accepted, payload }: Payment): PaymentKey {
  const { from, nonce } = payload.authorization
  return {
    network: accepted.network.toLowerCase(),
    asset: accepted.asset.toLowerCase(),
    payer: from.toLowerCase(),
    nonce: nonce.toLowerCase(),
  }
}

/** The last second of the year 9999, the latest that a date can represent. */
const LAST_DATE_SECONDS = 253_402_300_799n

/** Expiry of the authorization on the chain, capped at the end of the year 9999. */
export function validBeforeOf({ payload }: Payment): Date {
  const seconds = BigInt(payload.authorization.validBefore)
  return new Date(Number((seconds < LAST_DATE_SECONDS ? seconds : LAST_DATE_SECONDS) * 1_000n))
}
