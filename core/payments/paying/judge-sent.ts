import { elapsedMs, sleep, withTimeout } from '../../clock.ts'
import type { Hex } from '../chain/asset.ts'
import type { Permit } from '../chain/permit.ts'
import {
  type AuthorizedTransfer,
  judgeAuthorization,
  judgePermit,
  type PaymentVerdict,
  type VerdictDeps,
} from '../chain/verdict.ts'

/** A payment to a seller, by an authorization or a permit. */
interface SentPayment extends AuthorizedTransfer, Pick<Permit, 'settledOthers'> {
  /** True if `value` is the maximum of a metered price, of which any part may be taken. */
  readonly isMaximum: boolean
  /** Transaction that the seller names. */
  readonly tx?: Hex | undefined
}

/** Judges a payment to a seller by the chain alone. */
export function judgeSent(deps: VerdictDeps, sent: SentPayment): Promise<PaymentVerdict> {
  const { from: owner, to: payTo } = sent
  return sent.isMaximum
    ? judgePermit(deps, { ...sent, owner, payTo })
    : judgeAuthorization(deps, sent)
}

const LOOKUP_TIMEOUT_MS = 10_000
const LOOK_AGAIN_MS = 500

/**
 * Looks up a payment on the chain. One block is enough, because a charge that does not last is
 * refunded. If it is not found in time, the job `resolve-payments` learns the outcome later.
 * @param waits true if the seller says that it took the payment: our node may be a block behind
 */
export async function findSent(
  deps: VerdictDeps,
  sent: SentPayment,
  waits: boolean,
): Promise<(PaymentVerdict & { readonly is: 'paid' }) | undefined> {
  const until = elapsedMs() + LOOKUP_TIMEOUT_MS
  for (;;) {
    const look = judgeSent({ ...deps, finality: 1n }, sent)
    const verdict = await withTimeout(until - elapsedMs(), look)
    if (verdict?.is === 'paid') return verdict
    if (!waits || verdict?.is === 'void' || elapsedMs() + LOOK_AGAIN_MS > until) return undefined
    await sleep(LOOK_AGAIN_MS)
  }
}
