import type { AccountRef, Ledger } from '../../ledger/ledger.ts'
import { walletOf, X402_LOSS } from '../../ledger/postings.ts'
import type { Log } from '../../log.ts'
import type { Micros } from '../../money.ts'
import type { VerdictDeps } from '../chain/verdict.ts'
import { postEntry } from '../post-entry.ts'
import { type Claim, isClosed } from '../receiving/claim.ts'
import type { Claims } from '../receiving/claims.ts'
import type { Deposits } from '../receiving/deposits.ts'
import { judgeClaim } from '../receiving/find-settled.ts'
import { postPayment } from '../receiving/post-payment.ts'

/** Chain, token and finality are those of the network of the payment. */
interface ClaimDeps extends VerdictDeps {
  readonly ledger: Ledger
  readonly claims: Claims
  readonly deposits: Deposits
  readonly log: Log
}

/**
 * Posts what the chain of its network shows of a received payment.
 * @returns false if its outcome is still open
 */
export async function resolveClaim(deps: ClaimDeps, claim: Claim): Promise<boolean> {
  const { claims, ledger } = deps
  const { amount: value, key } = claim
  const verdict = await judgeClaim(deps, claim)
  const isAbandoned = isClosed(claim)
  if (verdict.is === 'open') return isAbandoned // nothing more is expected
  if (verdict.is === 'void') {
    if (await isLowered(claims, claim)) return false
    if (await claims.isPosted(claim)) await postVanishedReceipt(deps, claim)
    if (!isAbandoned) await claims.conclude(claim.key, 'failed')
    const isOwed = claim.state === 'pending' && claim.purpose === 'call' && !claim.upfront
    if (isOwed && (await claims.wasServed(claim)))
      await claims.trust.distrust(key.payer, 'never_settled')
    return true
  }
  const deposit = await isDeposit(claims, claim)
  if (claim.state === 'released' && !(await claims.reopen(claim, deposit))) return false
  const { tx } = verdict
  if (deposit) await deps.deposits.post(claim)
  else await postPayment(ledger, claim, tx) // in case of a crash between settling and posting
  const { v1Network: network } = deps.asset
  const event = { type: 'receipt.confirmed', amount: value as Micros, network } as const
  const owner = await ledger.account(walletOf('in-transit', network))
  await postEntry(ledger, event, { owner, id: claim.id, meta: { tx } })
  // Its request may have died after it stored the response, which the payer gets by its payment.
  await claims.conclude(claim.key, 'confirmed', tx, await claims.wasServed(claim))
  return true
}

/** Returns true if the settlement of a metered call began after its claim was read. */
async function isLowered(claims: Claims, { key, amount, authorized }: Claim): Promise<boolean> {
  return authorized !== null && (await claims.find(key))?.amount !== amount
}

/**
 * Returns true if the payment of a call buys nothing: its payer was told that it failed, or has
 * paid for the same request again after a refusal, as when a facilitator settles a payment that it
 * was only asked to verify. One that is already posted stays what it is.
 */
async function isDeposit(claims: Claims, claim: Claim): Promise<boolean> {
  if (claim.deposited) return true
  if (claim.purpose !== 'call' || !isClosed(claim)) return false
  if (claim.state === 'released' && !(await claims.wasPaidAgain(claim))) return false
  return !(await claims.isPosted(claim))
}

/** Reverses a posted payment that a reorganization of the chain removed. */
async function postVanishedReceipt({ ledger, log, asset }: ClaimDeps, claim: Claim): Promise<void> {
  const { id, amount, payee, purpose, key } = claim
  const credits = await ledger.account(payee)
  const left = purpose === 'credits' ? await ledger.balance(payee) : (0n as Micros)
  const recovered = left < amount ? left : (amount as Micros)
  const lost = (amount - recovered) as Micros
  log.error(
    { claim: id, payer: key.payer, amount: String(amount) },
    'a posted payment vanished from the chain',
  )
  const owner = await accountOnShardOf(credits, ledger.account(X402_LOSS))
  const { v1Network: network } = asset
  const event = { type: 'receipt.vanished', credits: payee, recovered, lost, network } as const
  const meta = { payer: key.payer, nonce: key.nonce }
  const outcome = await ledger.post(event, { owner, id, meta })
  // A replay with other terms is fine: it was reversed before, with another credit balance.
  if (outcome === 'insufficient_funds') throw new Error(`receipt.vanished ${id}: ${outcome}`)
}

/** Places a sharded account on the shard of the first account. */
export const accountOnShardOf = async (
  { shard }: AccountRef,
  account: Promise<AccountRef>,
): Promise<AccountRef> => ({ ...(await account), shard })
