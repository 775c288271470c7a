import { isJsonObject, objectMember } from '../../json.ts'
import { type Payment, validBeforeOf } from './payment.ts'
import { uint256 } from './transfer-fields.ts'

const SPONSORED_APPROVAL = 'eip2612GasSponsoring'

/** Extension by which a permit (EIP-2612) approves Permit2, so that its buyer needs no gas. */
export async function sponsoredApprovals(): Promise<Record<string, unknown>> {
  const { declareEip2612GasSponsoringExtension } = await import('@x402/extensions')
  return declareEip2612GasSponsoringExtension()
}

/** Permit of the token (EIP-2612) that a payment of the scheme `upto` brings. */
interface SponsoredApproval {
  /** True if it expires before the payment, which could then not be settled, or says no time. */
  readonly expiresEarly: boolean
}

/** Reads the permit by which a payment approves Permit2; undefined without one. */
export function sponsoredApprovalOf(payment: Payment): SponsoredApproval | undefined {
  const extensions = objectMember(isJsonObject(payment) ? payment : {}, 'extensions')
  const info = objectMember(objectMember(extensions, SPONSORED_APPROVAL), 'info')
  const { deadline, signature } = info
  if (signature === undefined) return undefined // an echo of the offer
  const { success, data } = uint256.safeParse(deadline)
  const validBefore = BigInt(validBeforeOf(payment).getTime())
  return { expiresEarly: !success || BigInt(data) * 1_000n < validBefore }
}
