import type { PaymentRequired } from '@x402/core/types'
import { z } from 'zod'
import { USDC_BASE } from '../chain/asset.ts'

/**
 * Offer of x402 version 1, the body of a 402. Clients of version 2 read the header instead
 * (x402 specification, transports-v1/http.md).
 */
export interface OfferV1 {
  readonly x402Version: 1
  readonly error: string
  readonly accepts: readonly object[]
  /** Extensions of version 2 that are too long for a header. */
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** Converts an offer of version 2. Version 1 has no metered prices, and is sold on Base only. */
export const offerV1 = ({ accepts, resource, error }: PaymentRequired): OfferV1 => ({
  x402Version: 1,
  error: error ?? 'payment_required',
  accepts: accepts
    .filter(({ scheme, network }) => scheme === 'exact' && network === USDC_BASE.network)
    .map(({ amount, ...terms }) => ({
      ...terms,
      network: USDC_BASE.v1Network,
      maxAmountRequired: amount,
      resource: resource.url,
      description: resource.description ?? '',
      mimeType: resource.mimeType ?? '',
    })),
})

/** Members of X-PAYMENT around the signed transfer, which is the same in both versions. */
export const envelopeV1 = {
  x402Version: z.literal(1),
  scheme: z.literal('exact'),
  network: z.literal(USDC_BASE.v1Network),
}

/** Converts PAYMENT-RESPONSE to X-PAYMENT-RESPONSE, which names the network differently. */
export function receiptV1(paymentResponse: string): string {
  const receipt = JSON.parse(Buffer.from(paymentResponse, 'base64').toString('utf8'))
  const text = JSON.stringify({ ...receipt, network: USDC_BASE.v1Network })
  return Buffer.from(text).toString('base64')
}
