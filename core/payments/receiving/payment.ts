import { z } from 'zod'
import { tryParseJson } from '../../json.ts'
import { USDC_BASE } from '../chain/asset.ts'
import {
  address,
  type ExactPayload,
  exactPayload,
  payload,
  type SignedTransfer,
  transferOf,
  uint256,
} from './transfer-fields.ts'
import { envelopeV1 } from './version-1.ts'

/** A signed payment, by EIP-3009 (`exact`) or Permit2 (`upto`), well-formed but not verified. */
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
  | 'invalid_challenge'

/** Malformed payment of x402 or MPP. The message may be shown to the payer. */
export class BadPayment extends Error {
  override readonly name = 'BadPayment'
  readonly reason: BadPaymentReason
  constructor(reason: BadPaymentReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Maximum length of a payment in a header. */
export const HEADER_MAX = 16_384
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

const caip2 = z
  .string()
  .regex(/^[^:]+:[^:]+$/)
  .transform((text) => text as `${string}:${string}`)

const Payment = z.looseObject({
  /** Payments of version 1 and of MPP repeat no terms: `accepted` is what the transfer says. */
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
const PaymentV1 = z.looseObject({ ...envelopeV1, payload: exactPayload })

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
  const json = parsePaymentJson(Buffer.from(value, 'base64').toString('utf8'))
  const version1 = PaymentV1.safeParse(json)
  if (version1.success) return transferPayment(version1.data.payload)
  const parsed = PaymentV2.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new BadPayment(
    'malformed_payload',
    `The payment is malformed at ${issue?.path.join('.') || 'the top level'}.`,
  )
}

/** Builds the payment of a signed transfer that repeats no terms. */
export const transferPayment = (payload: ExactPayload): Payment => ({
  x402Version: 1,
  accepted: {
    scheme: 'exact',
    network: USDC_BASE.network,
    asset: USDC_BASE.address,
    amount: payload.authorization.value,
    payTo: payload.authorization.to,
    maxTimeoutSeconds: 1,
    extra: {},
  },
  payload,
})

/** @throws BadPayment unless it is JSON without forbidden names */
export function parsePaymentJson(text: string): unknown {
  const json = tryParseJson(text, (name, value) => {
    if (FORBIDDEN_KEYS.has(name)) throw new SyntaxError(`forbidden name ${name}`)
    return value
  })
  if (json !== undefined) return json
  throw new BadPayment('malformed_json', 'The payment must be encoded JSON.')
}

/** Identifies the authorization. Another payment with the same key is a replay. */
export function paymentKey({ accepted, payload }: Payment): PaymentKey {
  const { from, nonce } = transferOf(payload)
  return {
    network: accepted.network.toLowerCase(),
    asset: accepted.asset.toLowerCase(),
    payer: from.toLowerCase(),
    nonce: nonce.toLowerCase(),
  }
}

/** Transfer that a payment authorizes. */
export const transferIn = ({ payload }: Payment): SignedTransfer => transferOf(payload)

/** The last second of the year 9999, the latest that a date can represent. */
const LAST_DATE_SECONDS = 253_402_300_799n

/** Expiry of the authorization on the chain, capped at the end of the year 9999. */
export function validBeforeOf({ payload }: Payment): Date {
  const seconds = transferOf(payload).validBefore
  return new Date(Number((seconds < LAST_DATE_SECONDS ? seconds : LAST_DATE_SECONDS) * 1_000n))
}
