import { type Address, getAddress, isAddress } from 'viem'
import { isJsonObject, type JsonObject } from '../../json.ts'
import { type Micros, micros } from '../../money.ts'
import { USDC_BASE } from '../chain/asset.ts'
import type { MppChallenge } from '../mpp-challenge.ts'
import type { Offer } from './offer.ts'
import { PaymentTermsError, type TermsReason } from './terms-error.ts'

export interface TermsPolicy {
  /** Host name of the requested URL. */
  readonly host: string
  /** Maximum price of the caller, in microdollars. */
  readonly maxAmount: bigint
  /** Remaining amounts of the hub's own caps (per call, host and day), in microdollars. */
  readonly caps?: readonly bigint[]
  /** Every address of the hub, any case. */
  readonly ownWallets: readonly string[]
  /** Known payees of this seller; another payee is refused unless the caller accepted it. */
  readonly knownPayTo?: readonly string[]
  /** Payee address that the caller accepts although it is not known. */
  readonly acceptedPayTo?: string | undefined
  /** True if Permit2 may take what the wallet signs: prices of the scheme `upto` are accepted. */
  readonly buysMetered?: boolean
  /** True if the request sends a header Authorization, which no payment may replace. */
  readonly hasAuthorization?: boolean
  /** Listed price in microdollars; undefined if the caller set a maximum. */
  readonly listedPrice?: bigint | undefined
}

/** Accepted terms, checked against the hub's own tables. */
export interface Terms {
  readonly version: 1 | 2
  /** Microdollars, which are the atomic units of USDC; the maximum of a metered price. */
  readonly amount: Micros
  /** Set for a metered price (scheme `upto`): the account that settles the usage. */
  readonly facilitator?: Address
  readonly payTo: Address
  readonly payToChanged: boolean
  /** Seconds that the seller allows for the payment. */
  readonly maxTimeoutSeconds: number
  /** `upfront`: the seller settles before the work. */
  readonly flow: 'authorization' | 'upfront'
  /** Set if it is paid by MPP: the challenge to answer. */
  readonly challenge?: MppChallenge
  /** The seller's own entry and resource, to be sent back unchanged (x402 v2 §5.2). */
  readonly accepted: JsonObject
  readonly resource: unknown
  /** The seller's extension `payment-identifier`, to be sent back with an id; else undefined. */
  readonly identifier?: JsonObject
  /** Codes of warnings about the seller. */
  readonly cautions?: readonly string[]
}

/** Below the minimum no facilitator settles in time; above the maximum no seller needs it. */
export const TIMEOUT_LIMITS_SECONDS = { min: 10, max: 86_400 } as const
const POSITIVE = /^[1-9]\d{0,77}$/
const ZERO = '0x0000000000000000000000000000000000000000'

type Check = (entry: JsonObject, offer: Offer, policy: TermsPolicy) => boolean

/** Checks of an entry in the order of `REASON_TEXTS`, except the limits of its price. */
const CHECKS: readonly (readonly [TermsReason, Check])[] = [
  ['extension', (_entry, { extensions }) => !requiresUnknownExtension(extensions)],
  ['resource', isForRequestedHost],
  ['scheme', isPayableScheme],
  ['network', (entry, { version }) => NETWORKS[version].includes(entry['network'])],
  ['asset', (entry) => isSameAddress(entry['asset'], USDC_BASE.address)],
  ['domain', hasKnownDomain],
  ['amount', (entry, { version }) => amountOf(entry, version) !== undefined],
  ['pay_to', (entry) => payToOf(entry) !== undefined],
  ['own_wallet', (entry, _offer, policy) => !isListed(payToOf(entry), policy.ownWallets)],
  ['timeout', (entry) => timeoutOf(entry) !== undefined],
  ['authorization', keepsAuthorization],
]

/** Names of Base. Some sellers of version 1 use that of version 2. */
const NETWORKS: Readonly<Record<Offer['version'], readonly unknown[]>> = {
  1: [USDC_BASE.v1Network, USDC_BASE.network],
  2: [USDC_BASE.network],
}

/**
 * Chooses the cheapest valid entry (by its maximum), among equal ones a fixed price, then one that
 * settles after the work; then checks payee and price. Entries with a known payee precede others.
 * @throws PaymentTermsError with the reason of the entry that got furthest, `pay_to_changed`, or
 * `above_max`, `above_cap` or `above_listed` if the cheapest valid entry is too expensive
 */
export function chooseTerms(offer: Offer, policy: TermsPolicy): Terms {
  const failed = offer.entries.map((entry) =>
    CHECKS.findIndex(([, passes]) => !passes(entry, offer, policy)),
  )
  const good = offer.entries.filter((_entry, index) => failed[index] === -1)
  const [terms] = good.map((entry) => termsOf(entry, offer, policy)).sort(preferredFirst)
  if (!terms) {
    const furthest = Math.max(...failed)
    const [reason] = CHECKS[furthest] ?? ['malformed_offer' as const]
    const networks = offer.entries.map((entry) => entry['network'])
    throw new PaymentTermsError(reason, reason === 'network' ? { networks } : {})
  }
  const { amount: price, payTo } = terms
  if (terms.payToChanged && !isSameAddress(policy.acceptedPayTo, payTo)) {
    throw new PaymentTermsError('pay_to_changed', { payTo })
  }
  if (price > policy.maxAmount) throw new PaymentTermsError('above_max', { price })
  if (policy.caps?.some((cap) => price > cap)) throw new PaymentTermsError('above_cap', { price })
  const { listedPrice } = policy
  if (listedPrice !== undefined && price > listedPrice) {
    throw new PaymentTermsError('above_listed', { price })
  }
  return terms
}

function preferredFirst(a: Terms, b: Terms): number {
  if (a.payToChanged !== b.payToChanged) return a.payToChanged ? 1 : -1
  if (a.amount !== b.amount) return a.amount < b.amount ? -1 : 1
  if (!a.facilitator !== !b.facilitator) return a.facilitator ? 1 : -1
  return a.flow === b.flow ? 0 : a.flow === 'authorization' ? -1 : 1
}

function termsOf(entry: JsonObject, offer: Offer, policy: TermsPolicy): Terms {
  const { version, resource, extensions } = offer
  const amount = amountOf(entry, version)
  const payTo = payToOf(entry)
  const maxTimeoutSeconds = timeoutOf(entry)
  const facilitator = facilitatorOf(entry)
  const flow = facilitator ? 'authorization' : flowOf(entry)
  if (!amount || !payTo || !maxTimeoutSeconds || !flow)
    throw new PaymentTermsError('malformed_offer')
  const challenge = offer.challenges?.get(entry)
  const payToChanged = (policy.knownPayTo ?? []).some((known) => !isSameAddress(known, payTo))
  return {
    version,
    amount,
    ...(facilitator && { facilitator }),
    payTo,
    payToChanged,
    maxTimeoutSeconds,
    flow,
    ...(challenge && { challenge }),
    accepted: entry,
    resource,
    ...identifierOf(extensions),
  }
}

/** Extension by which sellers tell payments apart (x402 specification, payment_identifier.md). */
export const IDENTIFIER = 'payment-identifier'

function identifierOf(extensions: unknown): Pick<Terms, 'identifier'> {
  const identifier = isJsonObject(extensions) ? extensions[IDENTIFIER] : undefined
  return isJsonObject(identifier) ? { identifier } : {}
}

/** Parses the amount in atomic units; undefined for numbers, decimals and contradicting amounts. */
function amountOf(entry: JsonObject, version: 1 | 2): Micros | undefined {
  const [own, other] = [entry['amount'], entry['maxAmountRequired']]
  const [amount, rival] = version === 2 ? [own, other] : [other, own]
  if (typeof amount !== 'string' || !POSITIVE.test(amount)) return undefined
  return rival === undefined || rival === amount ? micros(BigInt(amount)) : undefined
}

/** Parses the payee address. Mixed case must be a valid checksum (EIP-55). */
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

/** Parses how the seller settles; undefined unless it is paid by one EIP-3009 signature. */
function flowOf(entry: JsonObject): 'authorization' | 'upfront' | undefined {
  const { assetTransferMethod, paymentFlow } = extraOf(entry)
  if ((assetTransferMethod ?? 'eip3009') !== 'eip3009') return undefined
  const flow = paymentFlow ?? 'authorization'
  return flow === 'authorization' || flow === 'upfront' ? flow : undefined
}

/** Account that settles the usage of a metered price; undefined for another scheme. */
function facilitatorOf(entry: JsonObject): Address | undefined {
  const { assetTransferMethod, facilitatorAddress: account } = extraOf(entry)
  if (entry['scheme'] !== 'upto' || assetTransferMethod !== 'permit2') return undefined
  return typeof account === 'string' && isAddress(account) ? getAddress(account) : undefined
}

function isPayableScheme(entry: JsonObject, { version }: Offer, policy: TermsPolicy): boolean {
  if (entry['scheme'] === 'exact') return flowOf(entry) !== undefined
  return policy.buysMetered === true && version === 2 && facilitatorOf(entry) !== undefined
}

function hasKnownDomain(entry: JsonObject): boolean {
  if (facilitatorOf(entry)) return true // a permit is signed for the domain of Permit2
  const { name, version } = extraOf(entry)
  return name === USDC_BASE.name && version === USDC_BASE.version
}

/** Returns true if the payment leaves the header Authorization to the request, if it has one. */
function keepsAuthorization(entry: JsonObject, offer: Offer, policy: TermsPolicy): boolean {
  const challenge = offer.challenges?.get(entry)
  if (!challenge || !policy.hasAuthorization) return true
  return (challenge.header ?? 'authorization').toLowerCase() !== 'authorization'
}

/** Returns true if every resource that is a URL is on the requested host. */
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

/** Returns true if the offer requires an extension other than `payment-identifier`. */
function requiresUnknownExtension(extensions: unknown): boolean {
  if (!isJsonObject(extensions)) return false
  return Object.entries(extensions).some(
    ([name, one]) =>
      name !== IDENTIFIER &&
      isJsonObject(one) &&
      isJsonObject(one['info']) &&
      one['info']['required'] === true,
  )
}

const isSameAddress = (a: unknown, b: string): boolean =>
  typeof a === 'string' && a.toLowerCase() === b.toLowerCase()

const isListed = (address: string | undefined, list: readonly string[]): boolean =>
  list.some((one) => isSameAddress(address, one))
