import type { PaymentRequirements } from '@x402/core/types'
import type { Clock } from '../../clock.ts'
import type { Payment } from './payment.ts'

/** Compares the signed transfer with the requirement, independent of the facilitator. */
export function findMismatch(
  { payload }: Payment,
  requirement: PaymentRequirements,
): string | undefined {
  const { to, value } = payload.authorization
  if (to.toLowerCase() !== requirement.payTo.toLowerCase()) {
    return 'invalid_exact_evm_recipient_mismatch'
  }
  if (BigInt(value) !== BigInt(requirement.amount)) {
    return 'invalid_exact_evm_payload_authorization_value_mismatch'
  }
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
  if (BigInt(payload.authorization.validBefore) > latest) return 'authorization_lives_too_long'
  if (
    BigInt(payload.authorization.validBefore) <=
    now + BigInt(Math.max(needSeconds, SETTLE_MARGIN_SECONDS))
  ) {
    return 'invalid_exact_evm_payload_authorization_valid_before'
  }
}
