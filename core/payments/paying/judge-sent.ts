import type { Hex } from '../chain/asset.ts'
import {
  type AuthorizedTransfer,
  judgeAuthorization,
  judgePermit,
  type PaymentVerdict,
  type VerdictDeps,
} from '../chain/verdict.ts'

/** A payment to a seller, by an authorization or a permit. */
interface SentPayment extends AuthorizedTransfer {
  /** True if `value` is the maximum of a metered price, of which any part may be taken. */
  readonly isMaximum: boolean
  /** Transaction that the seller names. */
  readonly tx?: Hex | undefined
}

/** Judges a payment to a seller by the chain alone. */
export function judgeSent(deps: VerdictDeps, sent: SentPayment): Promise<PaymentVerdict> {
  const { from: owner, to: payTo } = sent
  return sent.isMaximum
    ? judgePermit(deps, { ...sent, owner, payTo, isForeign: true })
    : judgeAuthorization(deps, sent)
}
