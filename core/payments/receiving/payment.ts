import { z } from 'zod'
import type { Hex } from '../chain/asset.ts'

/** A signed payment of scheme exact by EIP-3009, well formed but not yet believed. */
export type Payment = z.infer<typeof Payment>

/** What makes an authorization the same one, all in lower case. */
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

/** A PAYMENT-SIGNATURE that cannot be read. The message is safe to show to the payer. */
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

const Payment = z.looseObject({
  x402Version: z.literal(2),
  accepted: z.looseObject({
    scheme: z.string(),
    network: caip2,
    asset: address,
    amount: uint256,
    payTo: address,
    maxTimeoutSeconds: z.number().int().positive(),
    extra: z.record(z.string(), z.unknown()),
  }),
  // A facilitator chooses by the members of the payload how to move money: with more of them than
  // we check, it could follow another one (`permit2Authorization`) than the one we judged.
  payload: z.strictObject({
    signature: bytes,
    authorization: z.strictObject({
      from: address,
      to: address,
      value: uint256,
      validAfter: uint256,
      validBefore: uint256,
      nonce: bytes32,
    }),
  }),
})

/**
 * Reads the value of PAYMENT-SIGNATURE (several values: the header came more than once).
 * @throws BadPayment when it is not one well formed payment of at most 16 KiB.
 */
export function readPayment(header: string | readonly string[]): Payment {
  const [value = '', ...more] = [header].flat()
  if (more.length > 0 || value.includes(',')) {
    throw new BadPayment('duplicate_header', 'PAYMENT-SIGNATURE must come once.')
  }
  if (value.length > HEADER_MAX) {
    throw new BadPayment('too_large', `PAYMENT-SIGNATURE must not exceed ${HEADER_MAX} bytes.`)
  }
  if (!BASE64.test(value)) throw new BadPayment('malformed_base64', 'It must be base64.')
  const parsed = Payment.safeParse(parseJson(Buffer.from(value, 'base64').toString('utf8')))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new BadPayment(
    'malformed_payload',
    `Not a payment at ${issue?.path.join('.') || 'the top'}.`,
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, (key, value) => {
      if (FORBIDDEN_KEYS.has(key)) throw new SyntaxError(`forbidden key ${key}`)
      return value
    })
  } catch (error) {
    throw new BadPayment('malformed_json', 'It must be the base64 of JSON.', error)
  }
}

/** Identifies the authorization: whatever else comes with the same key is a replay. */
export function paymentKey({ accepted, payload }: Payment): PaymentKey {
  const { from, nonce } = payload.authorization
  return {
    network: accepted.network.toLowerCase(),
    asset: accepted.asset.toLowerCase(),
    payer: from.toLowerCase(),
    nonce: nonce.toLowerCase(),
  }
}

/** The last second of the year 9999: later ones fit into no date, and are as good as never. */
const LAST_DATE_SECONDS = 253_402_300_799n

/** When the authorization is dead on the chain. A time beyond the year 9999 counts as its end. */
export function validBeforeOf({ payload }: Payment): Date {
  const seconds = BigInt(payload.authorization.validBefore)
  return new Date(Number((seconds < LAST_DATE_SECONDS ? seconds : LAST_DATE_SECONDS) * 1_000n))
}
