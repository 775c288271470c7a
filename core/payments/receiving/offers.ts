import type { PaymentRequired, PaymentRequirements, ResourceInfo } from '@x402/core/types'
import { type Clock, systemClock } from '../../clock.ts'
import { type Asset, assetOf, type Hex, type Network, USDC_BASE } from '../chain/asset.ts'
import type { Facilitator } from '../facilitators/facilitator.ts'
import type { PaymentNetwork } from '../networks.ts'
import { onEveryNetwork, openGateways } from './gateways.ts'
import { checkLifetime, findMismatch } from './local-checks.ts'
import { isMppCredential, type MppChallenges } from './mpp-challenges.ts'
import type { OfferSigner, SettledSale } from './offer-signer.ts'
import { type Payment, readPayment, transferIn } from './payment.ts'
import { namedPayments, PAYMENT_IDENTIFIER } from './payment-identifier.ts'
import { errorResponse, refusedResponse, type Settlement, toSettlement } from './settlement.ts'
import { SIGN_IN } from './sign-in-challenges.ts'
import { sponsoredApprovals } from './sponsored-approval.ts'
import { type OfferV1, offerV1 } from './version-1.ts'

export { BadPayment, type Payment, paymentKey, validBeforeOf } from './payment.ts'
export type { Settlement } from './settlement.ts'

export interface OffersOptions {
  readonly facilitator: Facilitator
  /** Wallet that receives payments. */
  readonly payTo: Hex
  /** `eip155:8453`. */
  readonly network: string
  /** Further networks on which fixed prices can be paid. @defaultValue none */
  readonly networks?: readonly PaymentNetwork[]
  readonly clock?: Clock
  /** Signs offers and receipts. */
  readonly signer?: OfferSigner
  /** Offers and reads payments by MPP. */
  readonly challenges?: MppChallenges
}

/** Price and payment terms of one request. */
export interface SaleTerms {
  /** Microdollars, which are the atomic units of USDC. */
  readonly amount: bigint
  /** True if `amount` is the maximum, of which the usage is taken. @defaultValue false */
  readonly isMetered?: boolean
  /**
   * Most that a payer may owe for metered work in flight, unless it has paid more at once before.
   * @defaultValue no limit
   */
  readonly owedMax?: bigint
  /** Validity of the payer's signature: the deadline of the work plus time to settle. */
  readonly maxTimeoutSeconds: number
  /** True if it is offered to be settled before the work, not after it. @defaultValue false */
  readonly upfront?: boolean
  /**
   * True if an upfront payment of a payer who has paid as much before is still settled after the
   * work. @defaultValue false
   */
  readonly trustsKnownPayers?: boolean
}

/** Sale that a 402 offers. */
export interface OfferedSale extends SaleTerms {
  readonly resource: ResourceInfo
  readonly error?: string
  /** Extensions of the offer by name; the longest are omitted from a header that is too long. */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
  /** Extensions that only the body has, because they are too long for the header. */
  readonly bodyExtensions?: Readonly<Record<string, unknown>> | undefined
  /** True if Authorization has the key of the caller. */
  readonly isKeyed?: boolean
}

export interface Offer {
  readonly header: string
  readonly required: PaymentRequired
  readonly body: OfferV1
}

export interface SignedOffer extends Offer {
  /** Headers of the 402: the offer of x402, and the challenge of MPP. */
  readonly headers: Readonly<Record<string, string>>
}

export interface VerificationResult {
  readonly valid: boolean
  readonly payer: Hex
  /** Reason code of x402 for an invalid payment. */
  readonly reason?: string
}

/** Seller side of x402 version 2, independent of the transport (HTTP or MCP). */
export interface Offers {
  /** True if payments of at most an amount can be settled (scheme `upto`). */
  readonly sellsMetered: boolean
  /**
   * Returns the terms on the first network.
   * @throws RangeError if the amount or the time is not positive
   */
  requirements(terms: SaleTerms): PaymentRequirements
  /**
   * Builds a 402: `header` is the value of PAYMENT-REQUIRED, `required` the same as an object, and
   * `body` the offer for clients of version 1, which read bodies only.
   */
  offer(sale: OfferedSale): Offer
  /** Builds a 402 that is signed, allows buyers to name their payment, and can be paid by MPP. */
  signedOffer(sale: OfferedSale): Promise<SignedOffer>
  /** Signs the receipt of a settled sale; undefined without a signer. */
  signReceipt(sale: SettledSale): Promise<Record<string, unknown> | undefined>
  /** Parses a payment of x402 or MPP. @throws BadPayment unless one of at most 16 KiB */
  read(header: string | readonly string[]): Payment
  /**
   * Returns the requirement that the payer accepted, on its network, if it is one of ours,
   * unchanged. Payers of version 1 and of MPP accept what they sign: an amount to our wallet.
   */
  match(
    ours: PaymentRequirements | readonly PaymentRequirements[],
    payment: Payment,
  ): PaymentRequirements | undefined
  /**
   * Checks signature, terms, balance and nonce; for an upfront sale only the terms, because
   * settlement follows. Reserves nothing: claim the payment (`paymentKey`) first.
   * @param needSeconds minimum remaining validity of the signature: the time left for the work
   * @throws FacilitatorUnavailable if the facilitator cannot verify
   */
  verify(
    payment: Payment,
    requirement: PaymentRequirements,
    needSeconds?: number,
  ): Promise<VerificationResult>
  /**
   * Verifies a payment that is not claimed yet. Returns undefined, and asks nobody, for a
   * facilitator service, which may settle at once what it is asked to verify.
   */
  verifyEarly(...args: Parameters<Offers['verify']>): Promise<VerificationResult> | undefined
  /** Asks the node for what the settlement needs, and sends nothing. */
  prepare(payment: Payment, requirement: PaymentRequirements): void
  /**
   * Settles the payment on the chain. Never throws if the facilitator fails: the outcome is
   * `pending`, unless certainly nothing was sent. The same payment may be settled again.
   * @param amount at most that of a metered requirement. @defaultValue that of the requirement
   */
  settle(payment: Payment, requirement: PaymentRequirements, amount?: bigint): Promise<Settlement>
}

export function createOffers(options: OffersOptions): Offers {
  const { facilitator, payTo, network, networks = [], clock = systemClock } = options
  const { signer, challenges } = options
  const asset = assetOf(network)
  const { uptoSettler } = facilitator
  const gateways = openGateways([{ asset, facilitator }, ...networks])
  const requirements = (terms: SaleTerms) => buildRequirements(asset, payTo, terms, uptoSettler)
  const verify: Offers['verify'] = async (payment, requirement, needSeconds = 0) => {
    const payer = transferIn(payment).from.toLowerCase() as Hex
    const localReason =
      findMismatch(payment, requirement) ?? checkLifetime(payment, requirement, clock, needSeconds)
    const reason = localReason ?? (await gateways.of(requirement).verify(payment, requirement))
    return reason === undefined ? { valid: true, payer } : { valid: false, payer, reason }
  }
  return {
    sellsMetered: uptoSettler !== undefined,
    requirements,
    offer: (sale) => buildOffer(onEveryNetwork(requirements(sale), networks), sale),
    signedOffer: (sale) => buildSignedOffer(requirements(sale), sale, options),
    async signReceipt(sale) {
      return signer && { [OFFER_RECEIPT]: await signer.signReceipt(sale) }
    },
    read: (header) => readAnyPayment(header, challenges),
    match(ours, payment) {
      const { accepted } = payment
      const offered = [ours].flat().flatMap((one) => onEveryNetwork(one, networks))
      const own = offered.filter((one) => one.network === accepted.network)
      return payment.x402Version === 1
        ? own.find((requirement) => findMismatch(payment, requirement) === undefined)
        : own[0] && gateways.of(own[0]).match(own, payment)
    },
    verify,
    verifyEarly: (...args) => (gateways.of(args[1]).verifiesLocally ? verify(...args) : undefined),
    prepare: (payment, requirement) => gateways.of(requirement).prepare(payment, requirement),
    async settle(payment, requirement, amount = BigInt(requirement.amount)) {
      const gateway = gateways.of(requirement)
      const reason = findMismatch(payment, requirement, amount)
      const response = reason
        ? refusedResponse(gateway.network, reason)
        : await gateway
            .settle(payment, { ...requirement, amount: String(amount) })
            .catch((error: unknown) => errorResponse(gateway.network, error))
      return toSettlement(payment, amount, response)
    },
  }
}

const OFFER_RECEIPT = 'offer-receipt'

/** Reads a credential of MPP, if it is offered, or else a payment of x402. */
function readAnyPayment(
  header: string | readonly string[],
  challenges: MppChallenges | undefined,
): Payment {
  const [value = '', ...more] = [header].flat()
  const isMpp = challenges && more.length === 0 && isMppCredential(value)
  return isMpp ? challenges.read(value) : readPayment(header)
}

async function buildSignedOffer(
  requirement: PaymentRequirements,
  sale: OfferedSale,
  { signer, challenges, networks = [] }: OffersOptions,
): Promise<SignedOffer> {
  const accepts = onEveryNetwork(requirement, networks)
  const signed = await signer?.signOffers(sale.resource, accepts)
  const extensions = {
    ...sale.extensions,
    ...(await namedPayments()),
    ...(sale.isMetered && (await sponsoredApprovals())),
    ...(signed && { [OFFER_RECEIPT]: signed }),
  }
  const offer = buildOffer(accepts, { ...sale, extensions })
  const challenge = sale.isMetered ? undefined : challenges?.issue(requirement, sale.isKeyed)
  const headers = {
    'PAYMENT-REQUIRED': offer.header,
    ...(challenge && { 'WWW-Authenticate': challenge }),
  }
  return { ...offer, headers }
}

/** Scheme of offers for metered prices. */
export const UPTO = 'upto'

/** Terms that all offers of fixed prices share, for documents that announce them. */
export const X402_TERMS = {
  version: 2,
  scheme: 'exact',
  network: USDC_BASE.network,
  extensions: ['bazaar', PAYMENT_IDENTIFIER, OFFER_RECEIPT, SIGN_IN],
} as const

export type X402Terms = typeof X402_TERMS & { readonly networks?: readonly Network[] }

/** Returns the terms with every network, if there are further ones. */
export const x402Terms = (further: readonly PaymentNetwork[]): X402Terms =>
  further.length === 0
    ? X402_TERMS
    : { ...X402_TERMS, networks: [USDC_BASE.network, ...further.map(({ asset }) => asset.network)] }

/**
 * Maximum length of PAYMENT-REQUIRED. Many clients and proxies limit a header to 8 KiB, and the
 * payment, which repeats the offer, is up to 800 characters longer.
 */
const HEADER_MAX = 7_000

function buildOffer(accepts: PaymentRequirements[], sale: OfferedSale): Offer {
  const { resource, error, extensions, bodyExtensions } = sale
  const required: PaymentRequired = {
    x402Version: 2,
    ...(error === undefined ? {} : { error }),
    resource,
    accepts,
    ...(extensions && { extensions }),
  }
  const header = Buffer.from(JSON.stringify(required)).toString('base64')
  if (header.length > HEADER_MAX && extensions && Object.keys(extensions).length > 0) {
    return buildOffer(accepts, { ...sale, extensions: withoutLongest(extensions) })
  }
  const body = offerV1(required)
  return { header, required, body: bodyExtensions ? { ...body, extensions: bodyExtensions } : body }
}

function withoutLongest(extensions: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const byLength = Object.entries(extensions)
    .map(([name, extension]) => ({ name, extension, length: JSON.stringify(extension).length }))
    .toSorted((a, b) => a.length - b.length)
  return Object.fromEntries(byLength.slice(0, -1).map(({ name, extension }) => [name, extension]))
}

function buildRequirements(
  asset: Asset,
  payTo: Hex,
  terms: SaleTerms,
  uptoSettler: Hex | undefined,
): PaymentRequirements {
  const { amount, maxTimeoutSeconds, upfront = false, isMetered = false } = terms
  if (amount <= 0n) throw new RangeError(`not a price: ${amount}`)
  if (!(maxTimeoutSeconds > 0)) throw new RangeError(`not a time: ${maxTimeoutSeconds}`)
  if (isMetered && !uptoSettler) throw new RangeError('the facilitator settles no metered price')
  const { name, version } = asset
  const flow = upfront ? { paymentFlow: 'upfront' } : {}
  const permit = { assetTransferMethod: 'permit2', facilitatorAddress: uptoSettler }
  return {
    scheme: isMetered ? UPTO : 'exact',
    network: asset.network,
    amount: String(amount),
    asset: asset.address,
    payTo,
    maxTimeoutSeconds,
    extra: { name, version, ...(isMetered ? permit : flow) },
  }
}
