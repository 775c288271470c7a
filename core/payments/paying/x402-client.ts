import { hash, randomBytes } from 'node:crypto'
import type { Address, Hex, LocalAccount } from 'viem'
import { systemClock } from '../../clock.ts'
import { methodOf } from '../../egress/egress.ts'
import { type EgressCode, EgressError, invalidRequest } from '../../egress/errors.ts'
import { forwardableHeaders } from '../../egress/headers.ts'
import type { Egress, EgressResponse, EgressTimeouts } from '../../egress/http.ts'
import { isJsonObject, type JsonObject } from '../../json.ts'
import { USDC_BASE } from '../chain/asset.ts'
import { type Authorization, signAuthorization } from '../chain/authorization.ts'
import { challengeHash, decodeRequest, type MppChallenge } from '../mpp-challenge.ts'
import { choosePayment } from './choose-payment.ts'
import { decodeJson } from './offer.ts'
import { IDENTIFIER, type Terms, type TermsPolicy } from './terms.ts'
import { PaymentTermsError } from './terms-error.ts'
import { validUntil } from './validity.ts'

/** Request of a caller at `POST /external`. */
export interface ExternalRequest {
  readonly url: string
  readonly method: string
  readonly headers?: JsonObject | undefined
  /** A string is sent verbatim, anything else as JSON; undefined and null send no body. */
  readonly body?: unknown
}

/** Limits of one request; the defaults are those of `Egress`. */
export interface LegOptions {
  readonly signal?: AbortSignal
  readonly maxBytes?: number
  readonly timeouts?: EgressTimeouts
}

/** A signed authorization that has not been sent. Commit it before sending. */
export interface SignedPayment {
  readonly header: { readonly name: string; readonly value: string }
  readonly from: Address
  readonly to: Address
  /** Atomic units of USDC, which are microdollars. */
  readonly value: bigint
  /** True if `value` is the maximum of a metered price. */
  readonly isMaximum: boolean
  /** 32 bytes, random or the hash of a challenge; with `from` they identify the payment. */
  readonly nonce: Hex
  /** Unix seconds of chain time at which the authorization expires. */
  readonly validBefore: bigint
  /** SHA-256 of the header's value. */
  readonly payloadHash: Hex
}

/** When the authorization expires on the chain. */
export const expiryOf = ({ validBefore }: Pick<SignedPayment, 'validBefore'>): Date =>
  new Date(Number(validBefore) * 1_000)

/** Fault codes for a signed payment with an unresolved outcome. */
export type UnresolvedReason = EgressCode | 'upstream_payment_rejected'

export type PaymentOutcome =
  | { readonly outcome: 'paid'; readonly tx: Hex | undefined; readonly response: EgressResponse }
  | {
      readonly outcome: 'unresolved'
      readonly reason: UnresolvedReason
      /** One sentence for the operator. */
      readonly note: string
      /** False only if the signature certainly never left this machine. */
      readonly sent: boolean
      /** True if a complete response arrived. */
      readonly answered: boolean
      /** Transaction named by the seller: a hint, not a proof. */
      readonly tx: Hex | undefined
      readonly response: EgressResponse | undefined
    }

/** Maximum validity of an authorization, which limits how long money is held in doubt. */
const LIFETIME_SECONDS_MAX = 60n

const OFFER_BYTES_MAX = 262_144

/**
 * Sends the request without payment and judges the offer. Signs nothing. Drops the body of a
 * response that requires no payment, because the hub is not an open proxy.
 * @throws EgressError if the request fails; `upstream_error` for an error status other than 402
 * @throws PaymentTermsError `not_payable`, `upstream_payment_terms`, `price_exceeds_max`
 */
export async function quoteExternal(
  egress: Egress,
  request: ExternalRequest,
  policy: Omit<TermsPolicy, 'host'>,
  now = systemClock.now(),
): Promise<Terms> {
  const message = { ...prepareMessage(request), maxBytes: OFFER_BYTES_MAX }
  const response = await sendUnpaid(egress, message)
  if (response.status >= 200 && response.status < 300) throw new PaymentTermsError('not_asked')
  if (response.status !== 402) throw new EgressError('upstream_error', { sent: true, response })
  const { hostname } = new URL(request.url)
  const hasAuthorization = message.headers['authorization'] !== undefined
  return choosePayment(response, { ...policy, host: hostname, hasAuthorization }, now)
}

/** Sends the unpaid request. For a 2xx only the status matters; its body may be broken or huge. */
async function sendUnpaid(egress: Egress, message: Parameters<Egress['request']>[0]) {
  try {
    return await egress.request(message)
  } catch (error) {
    const status = error instanceof EgressError ? (error.response?.status ?? 0) : 0
    if (status >= 200 && status < 300) throw new PaymentTermsError('not_asked', { cause: error })
    throw error
  }
}

/**
 * Signs exactly `terms.amount` to `terms.payTo`, valid for a minute at most whatever the seller
 * allows. Sign once per call: a second signature is a second payment.
 * @throws PaymentTermsError `own_wallet`, `timeout`
 * @param now start of the validity
 * @param lifetimeMax seconds; more than a minute only for a trusted seller
 * @param earlier authorization to sign again: both signatures are the same payment
 */
export async function signPayment(
  account: Pick<LocalAccount, 'address' | 'signTypedData'>,
  terms: Terms,
  now: Date,
  lifetimeMax = LIFETIME_SECONDS_MAX,
  earlier?: Pick<SignedPayment, 'nonce' | 'validBefore'>,
): Promise<SignedPayment> {
  const [from, to, value] = [account.address, terms.payTo, terms.amount]
  if (from.toLowerCase() === to.toLowerCase()) throw new PaymentTermsError('own_wallet')
  const {
    validBefore = validUntil(terms, now, lifetimeMax),
    nonce = terms.challenge
      ? challengeHash(terms.challenge)
      : `0x${randomBytes(32).toString('hex')}`,
  } = earlier ?? {}
  const header = await signHeader(account, terms, { from, to, value, validBefore, nonce })
  const payloadHash: Hex = `0x${hash('sha256', header.value, 'hex')}`
  const isMaximum = terms.facilitator !== undefined
  return { header, from, to, value, isMaximum, nonce, validBefore, payloadHash }
}

/** Signs the transfer, or the permit of a metered price, as the header of its protocol. */
async function signHeader(
  account: Pick<LocalAccount, 'signTypedData'>,
  terms: Terms,
  transfer: Authorization,
): Promise<SignedPayment['header']> {
  const { challenge, facilitator } = terms
  if (facilitator) {
    const { signPermit } = await import('../chain/sign-permit.ts') // lazy: rarely needed
    return paymentHeader(terms, await signPermit(account, transfer, facilitator), transfer.nonce)
  }
  const payload = await signAuthorization(account, transfer)
  return challenge
    ? credentialHeader(challenge, payload)
    : paymentHeader(terms, payload, transfer.nonce)
}

type TransferPayload = Awaited<ReturnType<typeof signAuthorization>>

/** Builds the header that answers a challenge of MPP. */
function credentialHeader(
  challenge: MppChallenge,
  { signature, authorization }: TransferPayload,
): SignedPayment['header'] {
  const payload = { type: 'authorization', signature, ...authorization }
  const source = `did:pkh:${USDC_BASE.network}:${authorization.from}`
  const credential = JSON.stringify({ challenge, payload, source })
  const value = `Payment ${Buffer.from(credential).toString('base64url')}`
  return { name: challenge.header ?? 'Authorization', value }
}

/** Builds the payment header for the seller's version of x402. */
function paymentHeader(terms: Terms, payload: unknown, nonce: Hex): SignedPayment['header'] {
  const { version, accepted, resource, identifier } = terms
  const extensions = identifier && { [IDENTIFIER]: withId(identifier, nonce) }
  const envelope =
    version === 2
      ? { x402Version: 2, resource, accepted, payload, ...(extensions && { extensions }) }
      : { x402Version: 1, scheme: 'exact', network: accepted['network'], payload }
  const value = Buffer.from(JSON.stringify(envelope)).toString('base64')
  return { name: version === 2 ? 'PAYMENT-SIGNATURE' : 'X-PAYMENT', value }
}

/** Adds the id of a payment to the seller's extension: the same for each signature of its nonce. */
const withId = (identifier: JsonObject, nonce: Hex): JsonObject => ({
  ...identifier,
  info: {
    ...(isJsonObject(identifier['info']) && identifier['info']),
    id: `pay_${nonce.slice(2, 34)}`,
  },
})

/**
 * Sends the same request once with the payment and returns the outcome. Never throws. Only a 2xx
 * with a receipt of success is `paid`; otherwise the seller may still settle until `validBefore`,
 * so the money stays held until the chain shows the outcome.
 */
export async function sendPaid(
  egress: Egress,
  request: ExternalRequest,
  signed: SignedPayment,
  options: LegOptions = {},
): Promise<PaymentOutcome> {
  try {
    const message = prepareMessage(request)
    const headers = { ...message.headers, [signed.header.name.toLowerCase()]: signed.header.value }
    const response = await egress.request({ ...message, ...options, headers, streams: true })
    return classifyResponse(response, signed)
  } catch (error) {
    return classifyError(error)
  }
}

function classifyResponse(response: EgressResponse, signed: SignedPayment): PaymentOutcome {
  const receipt = readReceipt(response)
  const settled = receipt !== undefined && isSuccessFor(receipt, signed)
  const { status } = response
  const tx = transactionIn(receipt)
  if (status >= 200 && status < 300 && settled) return { outcome: 'paid', tx, response }
  const reason = status === 402 ? 'upstream_payment_rejected' : 'upstream_error'
  const proof = !receipt ? 'no receipt' : settled ? 'a receipt of success' : 'a receipt of failure'
  const note = `The seller returned ${status} with ${proof}.`
  return { outcome: 'unresolved', reason, note, sent: true, answered: true, tx, response }
}

function classifyError(error: unknown): PaymentOutcome {
  if (!(error instanceof EgressError)) {
    const note = 'The hub failed while sending the payment.'
    const none = { answered: false, tx: undefined, response: undefined }
    return { outcome: 'unresolved', reason: 'upstream_error', note, sent: true, ...none }
  }
  const { code, message, sent, response } = error
  const tx = response && transactionIn(readReceipt(response))
  return { outcome: 'unresolved', reason: code, note: message, sent, answered: false, tx, response }
}

/** Reads the receipt of MPP or x402, version 2 or 1; undefined if there is none or malformed. */
function readReceipt({ headers }: EgressResponse): JsonObject | undefined {
  const receipt = readMppReceipt(headers['payment-receipt'])
  if (receipt) return receipt
  const header = headers['payment-response'] ?? headers['x-payment-response']
  const decoded = typeof header === 'string' ? decodeJson(header) : undefined
  return isJsonObject(decoded) ? decoded : undefined
}

/** Reads a receipt of MPP as x402 has it; undefined if there is none or malformed. */
function readMppReceipt(header: string | string[] | undefined): JsonObject | undefined {
  const receipt = typeof header === 'string' ? decodeRequest(header) : undefined
  if (!isJsonObject(receipt)) return undefined
  const { method, status, reference } = receipt
  return { success: method === 'evm' && status === 'success', transaction: reference }
}

const KNOWN_NETWORKS: readonly unknown[] = [USDC_BASE.network, USDC_BASE.v1Network, undefined, null]

/** Returns true for success of this payment; scheme `exact` may omit network, payer and amount. */
function isSuccessFor(receipt: JsonObject, { from, value, isMaximum }: SignedPayment): boolean {
  const { success, network, payer, amount } = receipt
  if (success !== true || !KNOWN_NETWORKS.includes(network)) return false
  if (typeof payer === 'string' && payer.toLowerCase() !== from.toLowerCase()) return false
  return isMaximum || amount === undefined || amount === null || amount === String(value)
}

function transactionIn(receipt: JsonObject | undefined): Hex | undefined {
  const tx = receipt?.['transaction']
  return typeof tx === 'string' && /^0x[\da-f]{64}$/i.test(tx) ? (tx as Hex) : undefined
}

/** An API key of this hub at the start of a word, which must not leak to a seller. */
const HUB_KEY = /(?<![\w-])ahk_[\dA-Za-z]/

/** Builds the message that both the unpaid and the paid request send. */
function prepareMessage(request: ExternalRequest) {
  const headers = forwardableHeaders(request.headers ?? {})
  const body = serializeBody(request.body)
  if (body !== undefined && HUB_KEY.test(body))
    throw invalidRequest('body: contains an API key of this hub')
  if (body !== undefined && typeof request.body !== 'string') {
    headers['content-type'] ??= 'application/json'
  }
  return { url: request.url, method: methodOf(request.method), headers, body }
}

function serializeBody(body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string') return body
  try {
    return JSON.stringify(body)
  } catch (error) {
    throw invalidRequest('body: cannot be serialized as JSON', error)
  }
}
