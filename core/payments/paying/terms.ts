import { type Address, getAddress, isAddress } from 'viem'
import type { EgressResponse } from '../../egress/http.ts'
import { isJsonObject, type JsonObject } from '../../json.ts'
import { type Micros, micros } from '../../money.ts'
import { USDC_BASE } from '../chain/asset.ts'

/** Why an offer is not taken. The order is that of the checks: a later one got further. */
const REASON_TEXTS = {
  no_offer: 'The seller asks for a payment but makes no x402 offer.',
  duplicate_offer: 'The seller makes two offers in one answer.',
  malformed_offer: 'The offer of the seller cannot be read.',
  extension: 'The seller requires an extension that the hub does not speak.',
  resource: 'The offer is for another host than the one that was asked.',
  scheme: 'The seller does not sell by the scheme exact with EIP-3009.',
  network: 'The seller does not take payments on Base.',
  asset: 'The seller does not take USDC at its known address.',
  domain: 'The offer names another EIP-712 domain than that of USDC.',
  amount: 'The amount is not a positive number of atomic units, or is given twice.',
  pay_to: 'The address to be paid is not a valid one.',
  own_wallet: 'The address to be paid is one of the hub.',
  timeout: 'The time allowed for the payment is not sensible.',
  above_max: 'The seller asks for more than the caller wants to pay.',
  above_cap: 'The seller asks for more than the hub pays at once.',
  above_listed:
    'The seller asks for more than it is listed at: name max_price_microdollars to pay it.',
  not_asked: 'The URL asks for no payment. The hub only forwards what is paid for.',
} as const

export type TermsReason = keyof typeof REASON_TEXTS
export type TermsCode = 'upstream_payment_terms' | 'price_exceeds_max' | 'not_payable'

const CODE_BY_REASON: Partial<Record<TermsReason, TermsCode>> = {
  above_max: 'price_exceeds_max',
  above_cap: 'price_exceeds_max',
  above_listed: 'price_exceeds_max',
  not_asked: 'not_payable',
}

/** The hub does not pay, and has signed nothing. The message is safe to show. */
export class PaymentTermsError extends Error {
  override readonly name = 'PaymentTermsError'
  readonly code: TermsCode
  readonly reason: TermsReason
  /** What the seller asks for, when only that is too much; in microdollars. */
  readonly asked: Micros | undefined

  constructor(reason: TermsReason, { asked, cause }: { asked?: Micros; cause?: unknown } = {}) {
    super(REASON_TEXTS[reason], { cause })
    this.code = CODE_BY_REASON[reason] ?? 'upstream_payment_terms'
    this.reason = reason
    this.asked = asked
  }
}

/** What a seller wrote into a 402, read but not believed. */
export interface Offer {
  /** Version of x402: 2 comes in a header, 1 in the body. */
  readonly version: 1 | 2
  /** `resource` of a version 2 offer as it came, to be sent back unchanged. */
  readonly resource: unknown
  readonly extensions: unknown
  readonly entries: readonly JsonObject[]
}

export interface TermsPolicy {
  /** Host name of the requested URL. */
  readonly host: string
  /** The most that the caller pays, in microdollars. */
  readonly maxAmount: bigint
  /** What is left of the hub's own caps (per call, per host, per day), in microdollars. */
  readonly caps?: readonly bigint[]
  /** Every address of the hub, any case. */
  readonly ownWallets: readonly string[]
  /** Whom this seller had paid when it was last seen; another one is flagged, not refused. */
  readonly knownPayTo?: readonly string[]
  /** What the seller is listed at, in microdollars, unless the caller has named a maximum. */
  readonly listedPrice?: bigint | undefined
}

/** Terms that the hub accepts: everything in them was checked against its own tables. */
export interface Terms {
  readonly version: 1 | 2
  /** In microdollars, which are the atomic units of USDC. */
  readonly amount: Micros
  readonly payTo: Address
  readonly payToChanged: boolean
  /** Seconds that the seller allows for the payment. */
  readonly maxTimeoutSeconds: number
  /** `upfront` means that the seller settles before it works. */
  readonly flow: 'authorization' | 'upfront'
  /** The seller's own entry and resource, to be sent back unchanged (x402 v2 §5.2). */
  readonly accepted: JsonObject
  readonly resource: unknown
}

const HEADER = 'payment-required'
const ENTRIES_MAX = 100
/** Below it no facilitator settles in time; above it nobody needs it (security case A088). */
const TIMEOUT_LIMITS_SECONDS = { min: 10, max: 86_400 } as const
const BASE64 = /^[A-Za-z\d+/]+={0,2}$/
const POSITIVE = /^[1-9]\d{0,77}$/
const ZERO = '0x0000000000000000000000000000000000000000'

/**
 * Reads the offer of a 402: the `PAYMENT-REQUIRED` header of version 2, else the JSON body of
 * version 1 (x402 specification, transports-v2/http.md). A header that cannot be read is refused
 * even when the body could be: there must be one offer.
 * @throws PaymentTermsError `no_offer`, `duplicate_offer`, `malformed_offer`
 */
export function parseOffer(response: Pick<EgressResponse, 'headers' | 'body'>): Offer {
  const header = response.headers[HEADER]
  if (Array.isArray(header)) throw new PaymentTermsError('duplicate_offer')
  if (header === undefined) return toOffer(1, parseBody(response.body))
  const decoded = decodeJson(header)
  if (!isJsonObject(decoded)) throw new PaymentTermsError('malformed_offer')
  return toOffer(2, decoded)
}

function parseBody(body: Buffer): JsonObject {
  const parsed = parseJson(body.toString('utf8'))
  if (!isJsonObject(parsed) || parsed['x402Version'] === undefined) {
    throw new PaymentTermsError('no_offer')
  }
  return parsed
}

function toOffer(version: 1 | 2, envelope: JsonObject): Offer {
  const { x402Version, accepts, resource, extensions } = envelope as Record<string, unknown>
  if (x402Version !== version || !Array.isArray(accepts) || accepts.length > ENTRIES_MAX) {
    throw new PaymentTermsError('malformed_offer')
  }
  const entries = accepts.filter(isJsonObject)
  if (entries.length === 0) throw new PaymentTermsError('malformed_offer')
  return { version, resource, extensions, entries }
}

/** The JSON in a base64 header; undefined when it is not that, or nested beyond reading. */
export function decodeJson(header: string): unknown {
  if (!BASE64.test(header)) return undefined
  return parseJson(Buffer.from(header, 'base64').toString('utf8'))
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    // What cannot be written again could not be sent back: very deep nesting overflows the stack.
    JSON.stringify(value)
    return value
  } catch {
    return undefined
  }
}

type Check = (entry: JsonObject, offer: Offer, policy: TermsPolicy) => boolean

/** What an entry must be, in the order of `REASONS`. Nothing here looks at the price's height. */
const CHECKS: readonly (readonly [TermsReason, Check])[] = [
  ['extension', (_entry, { extensions }) => !requiresExtension(extensions)],
  ['resource', isForRequestedHost],
  ['scheme', (entry) => entry['scheme'] === 'exact' && flowOf(entry) !== undefined],
  ['network', (entry, { version }) => entry['network'] === NETWORK[version]],
  ['asset', (entry) => isSameAddress(entry['asset'], USDC_BASE.address)],
  ['domain', hasKnownDomain],
  ['amount', (entry, { version }) => amountOf(entry, version) !== undefined],
  ['pay_to', (entry) => payToOf(entry) !== undefined],
  ['own_wallet', (entry, _offer, policy) => !isListed(payToOf(entry), policy.ownWallets)],
  ['timeout', (entry) => timeoutOf(entry) !== undefined],
]

const NETWORK = { 1: USDC_BASE.v1Network, 2: USDC_BASE.network } as const

/**
 * Chooses the cheapest entry that passes every check; of equal ones the first that settles after
 * the work. Then looks at its price.
 * @throws PaymentTermsError the reason of the entry that got furthest; `above_max` or `above_cap`
 * (code `price_exceeds_max`), or `above_listed`, when the cheapest good entry is too dear
 */
export function chooseTerms(offer: Offer, policy: TermsPolicy): Terms {
  const failed = offer.entries.map((entry) =>
    CHECKS.findIndex(([, passes]) => !passes(entry, offer, policy)),
  )
  const good = offer.entries.filter((_entry, index) => failed[index] === -1)
  const [terms] = good.map((entry) => termsOf(entry, offer, policy)).sort(cheaperFirst)
  if (!terms) {
    const [reason] = CHECKS[Math.max(...failed)] ?? ['malformed_offer' as const]
    throw new PaymentTermsError(reason)
  }
  const asked = terms.amount
  if (asked > policy.maxAmount) throw new PaymentTermsError('above_max', { asked })
  if (policy.caps?.some((cap) => asked > cap)) throw new PaymentTermsError('above_cap', { asked })
  const { listedPrice } = policy
  if (listedPrice !== undefined && asked > listedPrice) {
    throw new PaymentTermsError('above_listed', { asked })
  }
  return terms
}

function cheaperFirst(a: Terms, b: Terms): number {
  if (a.amount !== b.amount) return a.amount < b.amount ? -1 : 1
  return a.flow === b.flow ? 0 : a.flow === 'authorization' ? -1 : 1
}

function termsOf(entry: JsonObject, offer: Offer, policy: TermsPolicy): Terms {
  const { version, resource } = offer
  const amount = amountOf(entry, version)
  const payTo = payToOf(entry)
  const maxTimeoutSeconds = timeoutOf(entry)
  const flow = flowOf(entry)
  if (!amount || !payTo || !maxTimeoutSeconds || !flow)
    throw new PaymentTermsError('malformed_offer')
  const payToChanged = (policy.knownPayTo ?? []).some((known) => !isSameAddress(known, payTo))
  return {
    version,
    amount,
    payTo,
    payToChanged,
    maxTimeoutSeconds,
    flow,
    accepted: entry,
    resource,
  }
}

/** The amount in atomic units; a number, a decimal or two different amounts are none. */
function amountOf(entry: JsonObject, version: 1 | 2): Micros | undefined {
  const [own, other] = [entry['amount'], entry['maxAmountRequired']]
  const [amount, rival] = version === 2 ? [own, other] : [other, own]
  if (typeof amount !== 'string' || !POSITIVE.test(amount)) return undefined
  return rival === undefined || rival === amount ? micros(BigInt(amount)) : undefined
}

/** The address to be paid. Mixed case must be a valid checksum (EIP-55). */
function payToOf(entry: JsonObject): Address | undefined {
  const payTo = entry['payTo']
  if (typeof payTo !== 'string' || !isAddress(payTo)) return undefined
  return isListed(payTo, [ZERO, USDC_BASE.address]) ? undefined : getAddress(payTo)
}

function timeoutOf(entry: JsonObject): number | undefined {
  const seconds = entry['maxTimeoutSeconds']
  if (typeof seconds !== 'number' || !Number.isSafeInteger(seconds)) return undefined
  const { min, max } = TIMEOUT_LIMITS_SECONDS
  return seconds >= min && seconds <= max ? seconds : undefined
}

const extraOf = (entry: JsonObject): JsonObject =>
  isJsonObject(entry['extra']) ? entry['extra'] : {}

/** How the seller settles; undefined for a way of paying other than one EIP-3009 signature. */
function flowOf(entry: JsonObject): 'authorization' | 'upfront' | undefined {
  const { assetTransferMethod, paymentFlow } = extraOf(entry) as Record<string, unknown>
  if ((assetTransferMethod ?? 'eip3009') !== 'eip3009') return undefined
  const flow = paymentFlow ?? 'authorization'
  return flow === 'authorization' || flow === 'upfront' ? flow : undefined
}

function hasKnownDomain(entry: JsonObject): boolean {
  const { name, version } = extraOf(entry) as Record<string, unknown>
  return name === USDC_BASE.name && version === USDC_BASE.version
}

/** Whether the resource, where it is a URL, is on the requested host (attack: resource_spoof). */
function isForRequestedHost(entry: JsonObject, offer: Offer, { host }: TermsPolicy): boolean {
  const named = [entry['resource'], offer.version === 2 ? offer.resource : undefined]
  return named.every((resource) => {
    const url = isJsonObject(resource) ? resource['url'] : resource
    if (url === undefined || url === null) return true
    if (typeof url !== 'string') return false
    const { hostname = '' } = URL.parse(url) ?? {}
    return hostname === '' || hostname === host.toLowerCase()
  })
}

/** Whether the offer says that it cannot be paid without an extension, such as an identifier. */
function requiresExtension(extensions: unknown): boolean {
  if (!isJsonObject(extensions)) return false
  return Object.values(extensions).some(
    (one) => isJsonObject(one) && isJsonObject(one['info']) && one['info']['required'] === true,
  )
}

const isSameAddress = (a: unknown, b: string): boolean =>
  typeof a === 'string' && a.toLowerCase() === b.toLowerCase()

const isListed = (address: string | undefined, list: readonly string[]): boolean =>
  list.some((one) => isSameAddress(address, one))
