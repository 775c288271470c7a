import { withTimeout } from '../../clock.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { assetOf, type Hex } from '../chain/asset.ts'
import {
  blockBefore,
  judgeAuthorization,
  judgePermit,
  judgeTransaction,
  type PaymentVerdict,
  type VerdictDeps,
} from '../chain/verdict.ts'
import { chainOf, type PaymentChains } from '../networks.ts'
import { type Claim, isUnsent } from './claim.ts'
import type { Claims } from './claims.ts'
import { postPayment } from './post-payment.ts'

/** Judges the payment of a claim by the chain alone. */
export async function judgeClaim(deps: VerdictDeps, claim: Claim): Promise<PaymentVerdict> {
  const { payer, nonce } = claim.key as { payer: Hex; nonce: Hex }
  const { amount: value, validBefore, transaction: tx } = claim
  if (claim.authorized !== null) {
    const fromBlock = blockBefore(await deps.chain.head(), claim.claimedAt)
    const permit = { owner: payer, payTo: claim.payTo as Hex, nonce, value }
    const known = tx === null ? {} : { tx: tx as Hex }
    return judgePermit(deps, { ...permit, ...known, validBefore, fromBlock })
  }
  const paid = { from: payer, to: claim.payTo as Hex, value, nonce }
  const known = tx === null ? undefined : await judgeTransaction(deps, { ...paid, tx: tx as Hex })
  if (known) return known
  const fromBlock = blockBefore(await deps.chain.head(), claim.claimedAt)
  return judgeAuthorization(deps, { ...paid, validBefore, fromBlock })
}

interface FindDeps extends PaymentChains {
  readonly ledger: Ledger
  readonly claims: Claims
}

/** Maximum time that a request waits for the chain; the job asks it again. */
const CHAIN_TIMEOUT_MS = 2_000
/**
 * A settlement is posted when its transaction is in a block, unless it is for credits that must be
 * final first; the job confirms it when final.
 */
const IN_A_BLOCK = 1n

/**
 * Asks the chain for a pending payment, so that its payer need not wait for the job. One that is in
 * a block is posted as after its settlement. A payment is looked up once a second at most.
 * @returns the claim, which is settled if the payment was found; `isUnsent` is true if the chain
 *   does not show it and nothing is known to be sent, so that it may be settled again
 */
export async function findSettled(
  deps: FindDeps,
  claim: Claim,
): Promise<{ readonly claim: Claim; readonly isUnsent: boolean }> {
  const found =
    claim.state === 'pending'
      ? await withTimeout(CHAIN_TIMEOUT_MS, postIfTaken(deps, claim))
      : undefined
  return { claim: found ?? claim, isUnsent: found !== undefined && isUnsent(found) }
}

/** @returns undefined if it was looked up a second ago */
async function postIfTaken(deps: FindDeps, claim: Claim): Promise<Claim | undefined> {
  const { ledger, claims } = deps
  if (!(await claims.takePending(claim))) return undefined
  const { network } = claim.key
  const node = { chain: chainOf(deps, network), asset: assetOf(network), finality: IN_A_BLOCK }
  const verdict = await judgeClaim(node, claim)
  if (verdict.is !== 'paid') return claim
  if (claim.purpose === 'credits' && !(await claims.early.grant(claim, verdict.tx))) return claim
  await postPayment(ledger, claim, verdict.tx)
  await claims.conclude(claim.key, 'settled', verdict.tx, await claims.wasServed(claim))
  return { ...claim, state: 'settled', transaction: verdict.tx }
}
