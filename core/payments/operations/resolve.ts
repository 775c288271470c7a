import type { Clock } from '../../clock.ts'
import type { AccountRef, HoldRef, Ledger } from '../../ledger/ledger.ts'
import { EXTERNAL_SELLERS, IN_TRANSIT, X402_LOSS } from '../../ledger/postings.ts'
import type { Log } from '../../log.ts'
import type { Micros } from '../../money.ts'
import type { Asset, Hex } from '../chain/asset.ts'
import type { Chain } from '../chain/chain.ts'
import { type Verdict, verdict, verdictOn } from '../chain/evidence.ts'
import type { Intent, Intents } from '../paying/intents.ts'
import { bookPayment } from '../receiving/booking.ts'
import { isOver } from '../receiving/claim-rows.ts'
import type { Claim, Claims } from '../receiving/claims.ts'

export interface ResolvePorts {
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

const BATCH = 100
/** A run ends, however much there is to do. */
const BATCHES = 50
const LOOK_BACK_BLOCKS = 1_000n
const MS_PER_SECOND = 1_000n

/**
 * Learns from the chain what became of payments whose outcome, or whose finality, is open, and
 * books it. Whatever happens at the same time elsewhere is booked once: by id.
 * @param olderThanSeconds leaves those alone that a request is probably still at work on
 * @returns how many are still open
 */
export async function resolvePayments(ports: ResolvePorts, olderThanSeconds = 5): Promise<number> {
  let open = 0
  for (let batch = 0; batch < BATCHES; batch++) {
    const outcomes = await resolveSome(ports, olderThanSeconds)
    open += outcomes.filter((done) => !done).length
    if (outcomes.length < BATCH || !outcomes.includes(true)) break
  }
  return open
}

async function resolveSome(ports: ResolvePorts, olderThanSeconds: number): Promise<boolean[]> {
  const claims = await ports.claims.takeUnfinished(olderThanSeconds, BATCH)
  const intents = await ports.intents.takeUnfinished(olderThanSeconds, BATCH)
  const work = [
    ...claims.map((claim) => () => resolveClaim(ports, claim)),
    ...intents.map((intent) => () => resolveIntent(ports, intent)),
  ]
  const outcomes: boolean[] = []
  while (work.length > 0) {
    const some = work.splice(0, AT_ONCE).map((resolve) =>
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
const AT_ONCE = 50

async function resolveClaim(ports: ResolvePorts, claim: Claim): Promise<boolean> {
  const { claims, ledger } = ports
  const { amount: value, key } = claim
  const found = await verdictOf(ports, claim)
  const isGivenUp = isOver(claim)
  if (found.is === 'open') return isGivenUp // no more is expected of it
  if (found.is === 'void') {
    if (await claims.isBooked(claim)) await bookVanished(ports, claim)
    if (!isGivenUp) await claims.conclude(claim.key, 'failed')
    const isOwed = claim.state === 'pending' && claim.purpose === 'call' && !claim.upfront
    if (isOwed && (await claims.wasServed(claim))) await claims.distrust(key.payer, 'never_settled')
    return true
  }
  if (claim.state === 'released' && !(await claims.recall(claim))) return false
  const { tx } = found
  await bookPayment(ledger, claim, tx) // a crash may have come between settling and booking
  await post(
    ledger,
    { type: 'receipt.confirmed', amount: value as Micros },
    { owner: await ledger.account(IN_TRANSIT), id: claim.id, meta: { tx } },
  )
  await claims.conclude(claim.key, 'confirmed', tx)
  return true
}

async function verdictOf(ports: ResolvePorts, claim: Claim): Promise<Verdict> {
  const { payer, nonce } = claim.key as { payer: Hex; nonce: Hex }
  const { amount: value, validBefore, transaction: tx } = claim
  const paid = { from: payer, to: claim.payTo as Hex, value, nonce }
  const known = tx === null ? undefined : await verdictOn(ports, { ...paid, tx: tx as Hex })
  if (known) return known
  const fromBlock = await blockBefore(ports.chain, claim.claimedAt)
  return verdict(ports, { ...paid, validBefore, fromBlock })
}

/** A reorganisation of the chain took back a payment that was booked (security.md §1.4). */
async function bookVanished({ ledger, log }: ResolvePorts, claim: Claim): Promise<void> {
  const { id, amount, payee, purpose, key } = claim
  const credits = await ledger.account(payee)
  const left = purpose === 'credits' ? await ledger.balance(payee) : (0n as Micros)
  const recovered = left < amount ? left : (amount as Micros)
  const lost = (amount - recovered) as Micros
  log.error({ claim: id, payer: key.payer, amount: String(amount) }, 'a booked payment vanished')
  const owner = await onShardOf(credits, ledger.account(X402_LOSS))
  const event = { type: 'receipt.vanished', credits: payee, recovered, lost } as const
  const meta = { payer: key.payer, nonce: key.nonce }
  const outcome = await ledger.post(event, { owner, id, meta })
  // Other terms: it was taken back before, when the credits were others.
  if (outcome === 'insufficient_funds') throw new Error(`receipt.vanished ${id}: ${outcome}`)
}

/** A block that was there before an instant, taking a block a second as the quickest pace. */
async function blockBefore(chain: Chain, instant: Date): Promise<bigint> {
  const { number, time } = await chain.head()
  const seconds = BigInt(Math.max(0, time.getTime() - instant.getTime())) / MS_PER_SECOND
  const block = number - seconds - LOOK_BACK_BLOCKS
  return block > 0n ? block : 0n
}

async function resolveIntent(ports: ResolvePorts, intent: Intent): Promise<boolean> {
  const { intents, ledger } = ports
  const { call, amount } = intent
  const hold = { call, owner: await ledger.account(intent.owner) }
  const found = await verdict(ports, {
    ...intent,
    from: intent.payer,
    to: intent.payee,
    value: amount,
  })
  if (found.is === 'open') return false
  if (found.is === 'void') {
    await giveBack(ledger, hold, amount as Micros)
    await intents.recordReturn(call)
    await intents.conclude(call, 'unused')
    return true
  }
  const { tx } = found
  const charged = await charge(ledger, hold, amount)
  if (!charged) {
    ports.log.error({ call, tx, amount: String(amount) }, 'paid outside after the hold went back')
  }
  const sellers = await onShardOf(hold.owner, ledger.account(EXTERNAL_SELLERS))
  await post(
    ledger,
    { type: charged ? 'external.confirmed' : 'external.lost', amount: amount as Micros },
    { owner: sellers, id: call, meta: { tx } },
  )
  if (charged) await intents.recordCharge(call, amount)
  await intents.conclude(call, 'confirmed', { transaction: tx })
  return true
}

/** @returns false when the hold went back though it was spent: then the loss is the house's */
async function charge(ledger: Ledger, hold: HoldRef, amount: bigint): Promise<boolean> {
  const { outcome } = await ledger.settle(hold, amount)
  if (outcome === 'applied' || outcome === 'replayed') return true
  const state = await ledger.stateOf(hold)
  if (state === 'released' || state === 'expired') return false
  throw new Error(`call ${hold.call} was paid outside, and is not charged: ${outcome}`)
}

/** What an account has put into one of all shards lies on its own shard. */
const onShardOf = async (
  { shard }: AccountRef,
  account: Promise<AccountRef>,
): Promise<AccountRef> => ({ ...(await account), shard })

/** Releases the hold of a payment that was never taken; a charge on the seller's word goes back. */
async function giveBack(ledger: Ledger, hold: HoldRef, amount: Micros): Promise<void> {
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
  await post(ledger, event, { owner: hold.owner, id: hold.call })
}

/** @throws Error when the entry was refused: somebody has to look at it */
async function post(ledger: Ledger, ...entry: Parameters<Ledger['post']>): Promise<void> {
  const outcome = await ledger.post(...entry)
  if (outcome === 'applied' || outcome === 'replayed') return
  throw new Error(`${entry[0].type} ${entry[1].id} not booked: ${outcome}`)
}
