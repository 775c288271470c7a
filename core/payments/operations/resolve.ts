import type { Clock } from '../../clock.ts'
import type { AccountRef, HoldRef, Ledger } from '../../ledger/ledger.ts'
import { EXTERNAL_SELLERS, IN_TRANSIT, X402_LOSS } from '../../ledger/postings.ts'
import type { Log } from '../../log.ts'
import type { Micros } from '../../money.ts'
import type { Asset, Hex } from '../chain/asset.ts'
import type { Chain } from '../chain/chain.ts'
import {
  blockBefore,
  judgeAuthorization,
  judgeTransaction,
  type PaymentVerdict,
} from '../chain/verdict.ts'
import type { Intent, Intents } from '../paying/intents.ts'
import { postOrThrow } from '../post-entry.ts'
import { type Claim, isClosed } from '../receiving/claim.ts'
import type { Claims } from '../receiving/claims.ts'
import { postPayment } from '../receiving/post-payment.ts'

export interface ResolveDeps {
  readonly ledger: Ledger
  readonly chain: Chain
  readonly claims: Claims
  readonly intents: Intents
  readonly clock: Clock
  readonly log: Log
  readonly asset: Asset
  /** Blocks on top of a transfer before it counts as final. */
  readonly finality: bigint
}

const BATCH_SIZE = 100
/** A run ends, however much there is to do. */
const BATCHES_MAX = 50

/**
 * Learns from the chain what became of payments whose outcome, or whose finality, is open, and
 * books it. Whatever happens at the same time elsewhere is booked once: by id.
 * @param olderThanSeconds leaves those alone that a request is probably still at work on
 * @returns how many are still open
 */
export async function resolvePayments(ports: ResolveDeps, olderThanSeconds = 5): Promise<number> {
  let open = 0
  for (let batch = 0; batch < BATCHES_MAX; batch++) {
    const outcomes = await resolveBatch(ports, olderThanSeconds)
    open += outcomes.filter((done) => !done).length
    if (outcomes.length < BATCH_SIZE || !outcomes.includes(true)) break
  }
  return open
}

async function resolveBatch(ports: ResolveDeps, olderThanSeconds: number): Promise<boolean[]> {
  const claims = await ports.claims.takeUnfinished(olderThanSeconds, BATCH_SIZE)
  const intents = await ports.intents.takeUnfinished(olderThanSeconds, BATCH_SIZE)
  const work = [
    ...claims.map((claim) => () => resolveClaim(ports, claim)),
    ...intents.map((intent) => () => resolveIntent(ports, intent)),
  ]
  const outcomes: boolean[] = []
  while (work.length > 0) {
    const some = work.splice(0, CONCURRENCY).map((resolve) =>
      resolve().catch((error: unknown) => {
        ports.log.warn({ err: error }, 'a payment is not resolved yet')
        return false
      }),
    )
    outcomes.push(...(await Promise.all(some)))
  }
  return outcomes
}

/** A node answers several questions as quickly as one, and the ledger books together. */
const CONCURRENCY = 50

async function resolveClaim(ports: ResolveDeps, claim: Claim): Promise<boolean> {
  const { claims, ledger } = ports
  const { amount: value, key } = claim
  const found = await judgeClaim(ports, claim)
  const isGivenUp = isClosed(claim)
  if (found.is === 'open') return isGivenUp // no more is expected of it
  if (found.is === 'void') {
    if (await claims.isPosted(claim)) await postVanishedReceipt(ports, claim)
    if (!isGivenUp) await claims.conclude(claim.key, 'failed')
    const isOwed = claim.state === 'pending' && claim.purpose === 'call' && !claim.upfront
    if (isOwed && (await claims.wasServed(claim))) await claims.distrust(key.payer, 'never_settled')
    return true
  }
  if (claim.state === 'released' && !(await claims.reopen(claim))) return false
  const { tx } = found
  await postPayment(ledger, claim, tx) // a crash may have come between settling and booking
  await postOrThrow(
    ledger,
    { type: 'receipt.confirmed', amount: value as Micros },
    { owner: await ledger.account(IN_TRANSIT), id: claim.id, meta: { tx } },
  )
  await claims.conclude(claim.key, 'confirmed', tx)
  return true
}

async function judgeClaim(ports: ResolveDeps, claim: Claim): Promise<PaymentVerdict> {
  const { payer, nonce } = claim.key as { payer: Hex; nonce: Hex }
  const { amount: value, validBefore, transaction: tx } = claim
  const paid = { from: payer, to: claim.payTo as Hex, value, nonce }
  const known = tx === null ? undefined : await judgeTransaction(ports, { ...paid, tx: tx as Hex })
  if (known) return known
  const fromBlock = blockBefore(await ports.chain.head(), claim.claimedAt)
  return judgeAuthorization(ports, { ...paid, validBefore, fromBlock })
}

/** A reorganisation of the chain took back a payment that was booked (security.md §1.4). */
async function postVanishedReceipt({ ledger, log }: ResolveDeps, claim: Claim): Promise<void> {
  const { id, amount, payee, purpose, key } = claim
  const credits = await ledger.account(payee)
  const left = purpose === 'credits' ? await ledger.balance(payee) : (0n as Micros)
  const recovered = left < amount ? left : (amount as Micros)
  const lost = (amount - recovered) as Micros
  log.error({ claim: id, payer: key.payer, amount: String(amount) }, 'a booked payment vanished')
  const owner = await accountOnShardOf(credits, ledger.account(X402_LOSS))
  const event = { type: 'receipt.vanished', credits: payee, recovered, lost } as const
  const meta = { payer: key.payer, nonce: key.nonce }
  const outcome = await ledger.post(event, { owner, id, meta })
  // Other terms: it was taken back before, when the credits were others.
  if (outcome === 'insufficient_funds') throw new Error(`receipt.vanished ${id}: ${outcome}`)
}

async function resolveIntent(ports: ResolveDeps, intent: Intent): Promise<boolean> {
  const { intents, ledger } = ports
  const { call, amount } = intent
  const hold = { call, owner: await ledger.account(intent.owner) }
  const found = await judgeAuthorization(ports, {
    ...intent,
    from: intent.payer,
    to: intent.payee,
    value: amount,
  })
  if (found.is === 'open') return false
  if (found.is === 'void') {
    await releaseOrRefund(ledger, hold, amount as Micros)
    await intents.recordRefund(call)
    await intents.conclude(call, 'unused')
    return true
  }
  const { tx } = found
  const charged = await settleHold(ledger, hold, amount)
  if (!charged) {
    ports.log.error({ call, tx, amount: String(amount) }, 'paid outside after the hold went back')
  }
  const sellers = await accountOnShardOf(hold.owner, ledger.account(EXTERNAL_SELLERS))
  await postOrThrow(
    ledger,
    { type: charged ? 'external.confirmed' : 'external.lost', amount: amount as Micros },
    { owner: sellers, id: call, meta: { tx } },
  )
  if (charged) await intents.recordCharge(call, amount)
  await intents.conclude(call, 'confirmed', { transaction: tx })
  return true
}

/** @returns false when the hold went back though it was spent: then the loss is the house's */
async function settleHold(ledger: Ledger, hold: HoldRef, amount: bigint): Promise<boolean> {
  const { outcome } = await ledger.settle(hold, amount)
  if (outcome === 'applied' || outcome === 'replayed') return true
  const state = await ledger.stateOf(hold)
  if (state === 'released' || state === 'expired') return false
  throw new Error(`call ${hold.call} was paid outside, and is not charged: ${outcome}`)
}

/** What an account has put into one of all shards lies on its own shard. */
const accountOnShardOf = async (
  { shard }: AccountRef,
  account: Promise<AccountRef>,
): Promise<AccountRef> => ({ ...(await account), shard })

/** Releases the hold of a payment that was never taken; a charge on the seller's word goes back. */
async function releaseOrRefund(ledger: Ledger, hold: HoldRef, amount: Micros): Promise<void> {
  const state = await ledger.stateOf(hold)
  if (state === 'open') {
    const { outcome } = await ledger.release(hold)
    if (outcome !== 'applied' && outcome !== 'replayed') {
      throw new Error(`call ${hold.call} was not given back: ${outcome}`)
    }
  }
  if (state !== 'settled') return
  const credits = hold.owner.code
  const event = { type: 'external.refunded', credits, amount } as const
  await postOrThrow(ledger, event, { owner: hold.owner, id: hold.call })
}
