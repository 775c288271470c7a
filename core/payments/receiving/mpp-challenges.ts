import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { PaymentRequirements } from '@x402/core/types'
import { z } from 'zod'
import { type Clock, systemClock } from '../../clock.ts'
import type { PurposeKeys } from '../../secret-keys/purpose-keys.ts'
import { USDC_BASE } from '../chain/asset.ts'
import { challengeHash, encodeRequest } from '../mpp-challenge.ts'
import {
  BadPayment,
  HEADER_MAX,
  type Payment,
  parsePaymentJson,
  transferPayment,
} from './payment.ts'
import { TRANSFER_FIELDS } from './transfer-fields.ts'

/** Seconds between a challenge and its payment, beyond the validity that the sale needs. */
const DECISION_SECONDS = 60
const RANDOM_BYTES = 16
const MAC_BYTES = 16
const CREDENTIAL = /^Payment +([A-Za-z0-9_-]+)=*$/i
const ID = /^[A-Za-z0-9_-]{43}$/

/** Header for payments of callers whose key is in Authorization. */
export const PAYMENT_AUTHORIZATION = 'Payment-Authorization'

/** Terms of MPP that all offers share, for documents that announce them. */
export const MPP_TERMS = {
  method: 'evm',
  intent: 'charge',
  currency: USDC_BASE.address,
  chainId: USDC_BASE.chainId,
} as const

const Challenge = z.strictObject({
  id: z.string().regex(ID),
  realm: z.string().max(300),
  method: z.literal(MPP_TERMS.method),
  intent: z.literal(MPP_TERMS.intent),
  request: z.string().max(4_096),
  expires: z.iso.datetime(),
  header: z.string().max(64).optional(),
})
const Credential = z.strictObject({
  challenge: Challenge,
  payload: z.strictObject({ ...TRANSFER_FIELDS, type: z.literal('authorization') }),
  source: z.string().max(200).optional(),
})
type Challenge = z.infer<typeof Challenge>

/** Returns true for an MPP credential (`Payment …`), which x402 payments never are. */
export const isMppCredential = (header: string): boolean => /^payment /i.test(header)

/**
 * Issues challenges of the HTTP authentication scheme `Payment` (MPP, method `evm`, intent
 * `charge`), and reads their payments: transfers of EIP-3009, as x402 has them, whose nonce is the
 * hash of the challenge. Nothing is stored: the id ends with a MAC of every field but `header`.
 */
export class MppChallenges {
  readonly #keys: PurposeKeys
  readonly #realm: () => string
  readonly #clock: Clock

  /** @param origin URL of the hub, whose host is the realm */
  constructor(keys: PurposeKeys, origin: () => string, clock: Clock = systemClock) {
    this.#keys = keys
    this.#realm = () => new URL(origin()).host
    this.#clock = clock
  }

  /**
   * Creates the challenge for the terms of an x402 offer, as the header WWW-Authenticate.
   * @param isKeyed true if Authorization has the key of the caller
   */
  issue(terms: PaymentRequirements, isKeyed = false): string {
    const validSeconds = BigInt(terms.maxTimeoutSeconds + DECISION_SECONDS)
    const expires = BigInt(this.#clock.now().getTime()) / 1_000n + validSeconds
    const challenge = {
      realm: this.#realm(),
      method: MPP_TERMS.method,
      intent: MPP_TERMS.intent,
      expires: new Date(Number(expires * 1_000n)).toISOString(),
      request: encodeRequest(requestOf(terms)),
    }
    const random = randomBytes(RANDOM_BYTES)
    const mac = macOf(this.#keys.current.material, random, challenge)
    const id = Buffer.concat([random, mac]).toString('base64url')
    const header = isKeyed ? { header: PAYMENT_AUTHORIZATION } : {}
    const parameters = Object.entries({ id, ...challenge, ...header })
    return `Payment ${parameters.map(([name, value]) => `${name}="${value}"`).join(', ')}`
  }

  /**
   * Reads a credential. Challenges are answered for as long as the transfer is valid, which is not
   * longer than they are, so that a repeated payment is found after that too.
   * @throws BadPayment unless it is a transfer that pays a challenge of this hub
   */
  read(header: string): Payment {
    const { challenge, payload, source } = parseCredential(header)
    const { type: _, signature, ...authorization } = payload
    if (challenge.realm !== this.#realm() || !this.#isIssued(challenge)) {
      throw invalid('The challenge was not issued by this hub.')
    }
    if (authorization.nonce.toLowerCase() !== challengeHash(challenge)) {
      throw invalid('The nonce of the transfer is not the hash of the challenge.')
    }
    if (BigInt(authorization.validBefore) * 1_000n > BigInt(Date.parse(challenge.expires))) {
      throw invalid('The transfer is valid for longer than the challenge.')
    }
    const payer = `did:pkh:${USDC_BASE.network}:${authorization.from}`
    if (source !== undefined && source.toLowerCase() !== payer.toLowerCase()) {
      throw invalid('The source is not the wallet that signed the transfer.')
    }
    return transferPayment({ signature, authorization })
  }

  #isIssued(challenge: Challenge): boolean {
    const id = Buffer.from(challenge.id, 'base64url')
    const random = id.subarray(0, RANDOM_BYTES)
    const mac = id.subarray(RANDOM_BYTES)
    return this.#keys.valid.some(({ material }) =>
      timingSafeEqual(macOf(material, random, challenge), mac),
    )
  }
}

const invalid = (message: string): BadPayment => new BadPayment('invalid_challenge', message)

/** Request of the method `evm`: payee, amount and token. */
const requestOf = ({ amount, asset, payTo }: PaymentRequirements) => ({
  amount,
  currency: asset,
  methodDetails: {
    chainId: USDC_BASE.chainId,
    credentialTypes: ['authorization'],
    decimals: USDC_BASE.decimals,
  },
  recipient: payTo,
})

function parseCredential(header: string): z.infer<typeof Credential> {
  if (header.length > HEADER_MAX) {
    throw new BadPayment('too_large', `The payment must not exceed ${HEADER_MAX} bytes.`)
  }
  const [, encoded] = CREDENTIAL.exec(header) ?? []
  if (encoded === undefined) {
    throw new BadPayment('malformed_base64', 'The payment must be base64url.')
  }
  const json = parsePaymentJson(Buffer.from(encoded, 'base64url').toString())
  const parsed = Credential.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const place = issue?.path.join('.') || 'the top level'
  throw new BadPayment('malformed_payload', `The payment is malformed at ${place}.`)
}

/** Computes the MAC of the terms of a challenge. */
function macOf(key: Buffer, random: Buffer, challenge: Omit<Challenge, 'id'>): Buffer {
  const { realm, method, intent, request, expires } = challenge
  const terms = ['mpp', random.toString('hex'), realm, method, intent, request, expires]
  return createHmac('sha256', key).update(JSON.stringify(terms)).digest().subarray(0, MAC_BYTES)
}
