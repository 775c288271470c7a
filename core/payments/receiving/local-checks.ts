import type { PaymentRequirements } from '@x402/core/types'
import { x402UptoPermit2ProxyAddress } from '@x402/evm'
import type { Clock } from '../../clock.ts'
import type { Payment } from './payment.ts'
import { transferOf, type UptoPayload } from './transfer-fields.ts'

/**
 * Compares the signed transfer with the requirement, independent of the facilitator.
 * @param amount to be settled, of a metered requirement at most its own
 */
export function findMismatch(
  { payload }: Payment,
  requirement: PaymentRequirements,
  amount = BigInt(requirement.amount),
): string | undefined {
  const { scheme, to, value } = transferOf(payload)
  if (scheme !== requirement.scheme) return 'unsupported_payload_type'
  const permitReason = 'authorization' in payload ? undefined : permitMismatch(payload, requirement)
  if (permitReason) return permitReason
  if (to.toLowerCase() !== requirement.payTo.toLowerCase()) {
    return 'invalid_exact_evm_recipient_mismatch'
  }
  if (value !== BigInt(requirement.amount)) {
    return 'invalid_exact_evm_payload_authorization_value_mismatch'
  }
  const isPayable = scheme === 'upto' ? amount > 0n && amount <= value : amount === value
  if (!isPayable) return 'invalid_upto_evm_payload_settlement_exceeds_amount'
}

/** Compares what a permit names beyond its transfer: who may use it, and for which token. */
function permitMismatch(
  { permit2Authorization: { permitted, spender, witness } }: UptoPayload,
  { asset, extra }: PaymentRequirements,
): string | undefined {
  const isSame = (one: string, other: unknown) =>
    typeof other === 'string' && one.toLowerCase() === other.toLowerCase()
  if (!isSame(spender, x402UptoPermit2ProxyAddress)) return 'invalid_permit2_spender'
  if (!isSame(permitted.token, asset)) return 'permit2_token_mismatch'
  if (!isSame(witness.facilitator, extra['facilitatorAddress'])) return 'upto_facilitator_mismatch'
}

/** Minimum remaining validity, below which it could expire before a block includes it. */
const SETTLE_MARGIN_SECONDS = 6

/** Allowed clock skew. A payment valid much longer would be watched for too long. */
const CLOCK_TOLERANCE_SECONDS = 600n

/** Returns the reason why the validity of a payment is too short or too long. */
export function checkLifetime(
  { payload }: Payment,
  { maxTimeoutSeconds }: PaymentRequirements,
  clock: Clock,
  needSeconds: number,
): string | undefined {
  const now = BigInt(clock.now().getTime()) / 1_000n
  const latest = now + BigInt(maxTimeoutSeconds) + CLOCK_TOLERANCE_SECONDS
  const { validBefore } = transferOf(payload)
  if (validBefore > latest) return 'authorization_lives_too_long'
  if (validBefore <= now + BigInt(Math.max(needSeconds, SETTLE_MARGIN_SECONDS))) {
    return 'invalid_exact_evm_payload_authorization_valid_before'
  }
}
