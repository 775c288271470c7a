import { encodePaymentRequiredHeader } from '@x402/core/http'
import type { ResourceInfo } from '@x402/core/types'
import { SIGN_IN } from './sign-in-challenges.ts'

/**
 * Builds the PAYMENT-REQUIRED of a request that only credits can pay: it accepts no payment, but a
 * wallet may sign its challenge.
 */
export const signInOffer = (resource: ResourceInfo, challenge: object, error: string): string =>
  encodePaymentRequiredHeader({
    x402Version: 2,
    error,
    resource,
    accepts: [],
    extensions: { [SIGN_IN]: challenge },
  })
