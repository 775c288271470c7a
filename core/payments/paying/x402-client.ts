import { createHash, randomBytes } from 'node:crypto'
import type { Address, Hex, LocalAccount } from 'viem'
import { type EgressCode, EgressError, invalidRequest } from '../../egress/errors.ts'
import { forwardableHeaders } from '../../egress/headers.ts'
import {
  type Egress,
  type EgressResponse,
  type EgressTimeouts,
  methodOf,
} from '../../egress/http.ts'
import { isJsonObject } from '../../json.ts'
import type { Micros } from '../../money.ts'
import { USDC_BASE } from '../chain/asset.ts'
import { signAuthorization } from '../chain/authorization.ts'
import {
  chooseTerms,
  decodeJson,
  PaymentTermsError,
  parseOffer,
  type Terms,
  type TermsPolicy,
} from './terms.ts'

/** What a caller asks for at `POST /external` (specification §2.4). */
export interface ExternalRequest {
  readonly url: string
  readonly method: string
  readonly headers?: Readonly<Record<string, unknown>> | undefined
  /** A string is sent verbatim, anything else as JSON; none for undefined and null. */
  readonly body?: unknown
}

/** Limits of one leg; the defaults are those of `Egress`. */
export interface LegOptions {
  readonly signal?: AbortSignal
  readonly maxBytes?: number
  readonly timeouts?: EgressTimeouts
}

/** The policy without the host, which the request names. */
export type BuyingPolicy = Omit<TermsPolicy, 'host'>

export interface ExternalQuote {
  readonly payable: true
  readonly terms: Terms
  /** What will be signed for, to the microdollar. */
  readonly amount: Micros
}

/** A signed authorization that has not left yet. Commit it before it does (security case A092). */
export interface SignedPayment {
  readonly header: { readonly name: 'PAYMENT-SIGNATURE' | 'X-PAYMENT'; readonly value: string }
  readonly from: Address
  readonly to: Address
  /** Atomic units of USDC, which are microdollars. */
  readonly value: bigint
  /** 32 random bytes; with `from` it identifies the payment on the chain. */
  readonly nonce: Hex
  /** Unix seconds of chain time from which the authorization is dead. */
  readonly validBefore: bigint
  /** SHA-256 of the header's value. */
  readonly payloadHash: Hex
}

/** When the authorization expires on the chain. */
export const expiryOf = ({ validBefore }: Pick<SignedPayment, 'validBefore'>): Date =>
  new Date(Number(validBefore) * 1_000)

/** Codes of the fault catalogue for what became of a payment that was signed. */
export type UnresolvedReason = EgressCode | 'upstream_payment_rejected'

export type PaymentOutcome =
  | { readonly outcome: 'paid'; readonly tx: Hex | undefined; readonly response: EgressResponse }
  | {
      readonly outcome: 'unresolved'
      readonly reason: UnresolvedReason
      /** One sentence for the operator. */
      readonly note: string
      /** False only when it is certain that the signature never left this machine. */
      readonly sent: boolean
      /** Whether an answer came in whole. */
      readonly answered: boolean
      /** The transaction that the seller names: a hint for the look-up, no proof. */
      readonly tx: Hex | undefined
      readonly response: EgressResponse | undefined
    }

/** The longest that an authorization lives, in seconds: so long is money held in doubt. */
const LIFETIME_SECONDS_MAX = 60n

const OFFER_BYTES_MAX = 262_144
const MS_PER_SECOND = 1_000n

/**
 * First leg: asks without paying, and judges the offer. Nothing is signed. The body of an answer
 * that asks for no payment is dropped: the hub is no open proxy.
 * @throws EgressError when the request cannot be sent or is not answered; `upstream_error` for a
 * refusal other than 402
 * @throws PaymentTermsError `not_payable`, `upstream_payment_terms`, `price_exceeds_max`
 */
export async function quoteExternal(
  egress: Egress,
  request: ExternalRequest,
  policy: BuyingPolicy,
  options: LegOptions = {},
): Promise<ExternalQuote> {
  const message = prepareMessage(request)
  const response = await requestUnpaid(egress, {
    ...message,
    maxBytes: OFFER_BYTES_MAX,
    ...options,
  })
  if (response.status >= 200 && response.status < 300) throw new PaymentTermsError('not_asked')
  if (response.status !== 402) throw new EgressError('upstream_error', { sent: true, response })
  const { hostname } = new URL(request.url)
  const terms = chooseTerms(parseOffer(response), { ...policy, host: hostname })
  return { payable: true, terms, amount: terms.amount }
}

/** The first answer. Of a 2xx only the status matters: it may break off, or be far too large. */
async function requestUnpaid(egress: Egress, message: Parameters<Egress['request']>[0]) {
  try {
    return await egress.request(message)
  } catch (error) {
    const status = error instanceof EgressError ? (error.response?.status ?? 0) : 0
    if (status >= 200 && status < 300) throw new PaymentTermsError('not_asked', { cause: error })
    throw error
  }
}

/**
 * Signs exactly `terms.amount` to `terms.payTo`, for a minute at most whatever the seller allows.
 * Call it once per call: a second signature is a second payment.
 * @param now the time from which the lifetime counts
 * @param lifetimeMax seconds; longer than a minute only for a seller that is trusted to wait
 */
export async function signPayment(
  account: Pick<LocalAccount, 'address' | 'signTypedData'>,
  terms: Terms,
  now: Date,
  lifetimeMax = LIFETIME_SECONDS_MAX,
): Promise<SignedPayment> {
  const [from, to, value] = [account.address, terms.payTo, terms.amount]
  if (from.toLowerCase() === to.toLowerCase()) throw new PaymentTermsError('own_wallet')
  const allowed = BigInt(terms.maxTimeoutSeconds)
  const lifetime = allowed < lifetimeMax ? allowed : lifetimeMax
  const validBefore = BigInt(now.getTime()) / MS_PER_SECOND + lifetime
  const nonce: Hex = `0x${randomBytes(32).toString('hex')}`
  const payload = await signAuthorization(account, { from, to, value, validBefore, nonce })
  const header = paymentHeader(terms, payload)
  const payloadHash: Hex = `0x${createHash('sha256').update(header.value).digest('hex')}`
  return { header, from, to, value, nonce, validBefore, payloadHash }
}

/** The payment as the seller's version of x402 wants it. */
function paymentHeader(terms: Terms, payload: unknown): SignedPayment['header'] {
  const { version, accepted, resource } = terms
  const envelope =
    version === 2
      ? { x402Version: 2, resource, accepted, payload }
      : { x402Version: 1, scheme: 'exact', network: USDC_BASE.v1Network, payload }
  const value = Buffer.from(JSON.stringify(envelope)).toString('base64')
  return { name: version === 2 ? 'PAYMENT-SIGNATURE' : 'X-PAYMENT', value }
}

/**
 * Second leg: sends the same request with the payment, once, and says what became of it. Never
 * throws. `paid` is only a 2xx with a receipt of success; whatever else happens, the seller may
 * still settle until `validBefore`, so the money stays held until the chain has spoken.
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
  const told = !receipt ? 'no receipt' : settled ? 'a receipt of success' : 'a receipt of failure'
  const note = `The seller answered ${status} with ${told}.`
  return { outcome: 'unresolved', reason, note, sent: true, answered: true, tx, response }
}

function classifyError(error: unknown): PaymentOutcome {
  if (!(error instanceof EgressError)) {
    const note = 'The hub itself failed while sending.'
    const none = { answered: false, tx: undefined, response: undefined }
    return { outcome: 'unresolved', reason: 'upstream_error', note, sent: true, ...none }
  }
  const { code, message, sent, response } = error
  const tx = response && transactionIn(readReceipt(response))
  return { outcome: 'unresolved', reason: code, note: message, sent, answered: false, tx, response }
}

type Receipt = Readonly<Record<string, unknown>>

/** The receipt of version 2, else that of version 1; undefined when none can be read. */
function readReceipt({ headers }: EgressResponse): Receipt | undefined {
  const header = headers['payment-response'] ?? headers['x-payment-response']
  const receipt = typeof header === 'string' ? decodeJson(header) : undefined
  return isJsonObject(receipt) ? receipt : undefined
}

const RECEIPT_NETWORKS: readonly unknown[] = [
  USDC_BASE.network,
  USDC_BASE.v1Network,
  undefined,
  null,
]

/** Success, and of this payment as far as the receipt says; `exact` leaves the amount out. */
function isSuccessFor(receipt: Receipt, { from, value }: SignedPayment): boolean {
  const { success, network, payer, amount } = receipt as Record<string, unknown>
  if (success !== true || !RECEIPT_NETWORKS.includes(network)) return false
  if (typeof payer === 'string' && payer.toLowerCase() !== from.toLowerCase()) return false
  return amount === undefined || amount === null || amount === String(value)
}

function transactionIn(receipt: Receipt | undefined): Hex | undefined {
  const tx = receipt?.['transaction']
  return typeof tx === 'string' && /^0x[\da-f]{64}$/i.test(tx) ? (tx as Hex) : undefined
}

/** A key of this hub at the start of a word (security case A017). */
const HUB_KEY = /(?<![\w-])ahk_[\dA-Za-z]/

/** Both legs send exactly this. */
function prepareMessage(request: ExternalRequest) {
  const headers = forwardableHeaders(request.headers ?? {})
  const body = serializeBody(request.body)
  if (body !== undefined && HUB_KEY.test(body))
    throw invalidRequest('body: contains a key of this hub')
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
    throw invalidRequest('body: cannot be written as JSON', error)
  }
}
