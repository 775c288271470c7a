import type { PaymentPayload } from '@x402/core/types'
import { z } from 'zod'

const text = z.string().max(100)
const Authorization = z.object({
  from: text,
  to: text,
  value: text,
  validAfter: text,
  validBefore: text,
  nonce: text,
})

/**
 * Returns what identifies a payment in the outbox, which all networks share: its network and its
 * authorization, because some signers sign the same one differently each time. A payment without
 * one is identified by its signature.
 */
export function outboxKey({
  accepted,
  payload,
}: Pick<PaymentPayload, 'accepted' | 'payload'>): string | undefined {
  const { success, data } = Authorization.safeParse(payload['authorization'])
  if (success) return [accepted.network, ...Object.values(data)].join(' ').toLowerCase()
  return typeof payload['signature'] === 'string' ? payload['signature'] : undefined
}
