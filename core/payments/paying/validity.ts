import { type Terms, TIMEOUT_LIMITS_SECONDS } from './terms.ts'
import { PaymentTermsError } from './terms-error.ts'

const MS_PER_SECOND = 1_000n

/**
 * Unix seconds at which an authorization expires: never after the challenge that it answers.
 * @throws PaymentTermsError `timeout` if the challenge expired after its quote, or will soon
 */
export function validUntil(
  { challenge, maxTimeoutSeconds }: Terms,
  now: Date,
  lifetimeMax: bigint,
): bigint {
  const start = BigInt(now.getTime()) / MS_PER_SECOND
  const allowed = BigInt(maxTimeoutSeconds)
  const end = start + (allowed < lifetimeMax ? allowed : lifetimeMax)
  if (challenge?.expires === undefined) return end
  const expiry = BigInt(Date.parse(challenge.expires)) / MS_PER_SECOND
  if (expiry - start < TIMEOUT_LIMITS_SECONDS.min) throw new PaymentTermsError('timeout')
  return expiry < end ? expiry : end
}
