import { encodePaymentRequiredHeader } from '@x402/core/http'
import { x402ResourceServer } from '@x402/core/server'
import {
  type PaymentRequired,
  type PaymentRequirements,
  type ResourceInfo,
  VerifyError,
} from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { type Clock, systemClock } from '../../clock.ts'
import { type Asset, assetOf, type Hex } from '../chain/asset.ts'
import { type Facilitator, FacilitatorUnavailable } from '../facilitators/facilitator.ts'
import { type Payment, readPayment } from './payment.ts'
import { errorResponse, refusedResponse, type Settlement, toSettlement } from './settlement.ts'

export { BadPayment, type Payment, type PaymentKey, paymentKey, validBeforeOf } from './payment.ts'
export type { Settlement } from './settlement.ts'

export interface OffersOptions {
  readonly facilitator: Facilitator
  /** Who is paid. */
  readonly payTo: Hex
  /** `eip155:8453`. */
  readonly network: string
  readonly clock?: Clock
}

/** What one request costs. */
export interface SaleTerms {
  /** Microdollars, which are the atomic units of USDC. */
  readonly amount: bigint
  /** How long the payer's signature is to be valid: the work's deadline and time to settle. */
  readonly maxTimeoutSeconds: number
  /** Settled before the work instead of after it. @defaultValue false */
  readonly upfront?: boolean
}

export interface VerificationResult {
  readonly valid: boolean
  readonly payer: Hex
  /** Why not, in the words of x402. */
  readonly reason?: string
}

/** The seller's side of x402 version 2, without a transport: the same for HTTP and MCP. */
export interface Offers {
  /** @throws RangeError for an amount or a time that is not positive. */
  requirements(terms: SaleTerms): PaymentRequirements
  /** The 402: `header` is the value of PAYMENT-REQUIRED, `required` the same to show in a body. */
  offer(sale: SaleTerms & { readonly resource: ResourceInfo; readonly error?: string }): {
    readonly header: string
    readonly required: PaymentRequired
  }
  /**
   * Reads the value (several: the header came more than once) of PAYMENT-SIGNATURE.
   * @throws BadPayment when it is not one well formed payment of at most 16 KiB.
   */
  read(header: string | readonly string[]): Payment
  /** The requirement that the payer says to have accepted, if it is one of ours, unchanged. */
  match(
    ours: PaymentRequirements | readonly PaymentRequirements[],
    payment: Payment,
  ): PaymentRequirements | undefined
  /**
   * Checks signature, terms, balance and nonce; of an upfront sale only the terms, since settling
   * comes next. `needSeconds` is how long the signature must still be valid: what is left for the
   * work. It reserves nothing: claim the payment (`paymentKey`) before.
   * @throws FacilitatorUnavailable when nobody can tell.
   */
  verify(
    payment: Payment,
    requirement: PaymentRequirements,
    needSeconds?: number,
  ): Promise<VerificationResult>
  /**
   * Brings the payment onto the chain. Never throws for a facilitator that fails: that is
   * `pending`, unless it is sure that nothing was sent. The same payment may be settled again.
   */
  settle(payment: Payment, requirement: PaymentRequirements): Promise<Settlement>
}

export function createOffers(options: OffersOptions): Offers {
  const { facilitator, payTo, network, clock = systemClock } = options
  const asset = assetOf(network)
  const server = new x402ResourceServer(facilitator).register(asset.network, new ExactEvmScheme())
  const requirements = (terms: SaleTerms) => buildRequirements(asset, payTo, terms)
  const oneByOne: Pick<Facilitator, 'verify' | 'settle'> = {
    verify: (...asked) => server.verifyPayment(...asked),
    settle: (...asked) => server.settlePayment(...asked),
  }
  const way = () => facilitator.batched ?? oneByOne
  return {
    requirements,
    offer(sale) {
      const { resource, error } = sale
      const required: PaymentRequired = {
        x402Version: 2,
        ...(error === undefined ? {} : { error }),
        resource,
        accepts: [requirements(sale)],
      }
      return { header: encodePaymentRequiredHeader(required), required }
    },
    read: readPayment,
    match: (ours, payment) =>
      server.findMatchingRequirements('scheme' in ours ? [ours] : [...ours], payment),
    async verify(payment, requirement, needSeconds = 0) {
      const payer = payment.payload.authorization.from.toLowerCase() as Hex
      const early =
        findMismatch(payment, requirement) ??
        checkLifetime(payment, requirement, clock, needSeconds)
      const reason = early ?? (await verifyWithFacilitator(way(), payment, requirement))
      return reason === undefined ? { valid: true, payer } : { valid: false, payer, reason }
    },
    async settle(payment, requirement) {
      const reason = findMismatch(payment, requirement)
      if (reason !== undefined) return toSettlement(payment, refusedResponse(asset.network, reason))
      const answer = await way()
        .settle(payment, requirement)
        .catch((error: unknown) => errorResponse(asset.network, error))
      return toSettlement(payment, answer)
    },
  }
}

function buildRequirements(asset: Asset, payTo: Hex, terms: SaleTerms): PaymentRequirements {
  const { amount, maxTimeoutSeconds, upfront = false } = terms
  if (amount <= 0n) throw new RangeError(`not a price: ${amount}`)
  if (!(maxTimeoutSeconds > 0)) throw new RangeError(`not a time: ${maxTimeoutSeconds}`)
  const { name, version } = asset
  return {
    scheme: 'exact',
    network: asset.network,
    amount: String(amount),
    asset: asset.address,
    payTo,
    maxTimeoutSeconds,
    extra: upfront ? { name, version, paymentFlow: 'upfront' } : { name, version },
  }
}

/** What the facilitator has against the payment. */
async function verifyWithFacilitator(
  facilitator: Pick<Facilitator, 'verify'>,
  payment: Payment,
  requirement: PaymentRequirements,
): Promise<string | undefined> {
  try {
    const { isValid, invalidReason } = await facilitator.verify(payment, requirement)
    return isValid ? undefined : (invalidReason ?? 'invalid_payload')
  } catch (error) {
    const isRefusal = error instanceof VerifyError && error.statusCode < 500
    if (isRefusal && error.invalidReason !== undefined) return error.invalidReason
    if (error instanceof FacilitatorUnavailable) throw error
    throw new FacilitatorUnavailable('The facilitator did not verify.', { cause: error })
  }
}

/** What is signed must be what is sold, whatever a facilitator thinks of it. */
function findMismatch({ payload }: Payment, requirement: PaymentRequirements): string | undefined {
  const { to, value } = payload.authorization
  if (to.toLowerCase() !== requirement.payTo.toLowerCase()) {
    return 'invalid_exact_evm_recipient_mismatch'
  }
  if (BigInt(value) !== BigInt(requirement.amount)) {
    return 'invalid_exact_evm_payload_authorization_value_mismatch'
  }
}

/** Shorter, the authorization could end before a block has it. */
const SETTLE_MARGIN_SECONDS = 6

/** A clock may be wrong by so much; what is valid much longer would be watched for ever. */
const CLOCK_TOLERANCE_SECONDS = 600n

function checkLifetime(
  { payload }: Payment,
  { maxTimeoutSeconds }: PaymentRequirements,
  clock: Clock,
  needSeconds: number,
): string | undefined {
  const now = BigInt(clock.now().getTime()) / 1_000n
  const latest = now + BigInt(maxTimeoutSeconds) + CLOCK_TOLERANCE_SECONDS
  if (BigInt(payload.authorization.validBefore) > latest) return 'authorization_lives_too_long'
  if (
    BigInt(payload.authorization.validBefore) <=
    now + BigInt(Math.max(needSeconds, SETTLE_MARGIN_SECONDS))
  ) {
    return 'invalid_exact_evm_payload_authorization_valid_before'
  }
}
