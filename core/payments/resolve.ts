import type { Clock } from '../clock.ts'
import type { HoldRef, Ledger } from '../ledger/ledger.ts'
import { EXTERNAL_SELLERS } from '../ledger/postings.ts'
import type { Log } from '../log.ts'
import type { Micros } from '../money.ts'
import type { Asset, Hex } from './asset.ts'
import { bookPayment } from './booking.ts'
import type { Chain, Transfer } from './chain.ts'
import type { Claim, Claims } from './claims.ts'
import type { Intent, Intents } from './intents.ts'

export interface ResolvePorts {
  readonly ledger: Ledger
  readonly chain: Chain
  readonly claims: Claims
  readonly intents: Intents
  readonly clock: Clock
  readonly log: Log
  readonly asset: Asset
  /** Who receives payments to the hub. */
  readonly treasury: Hex
  /** Blocks on top of a transfer before it counts as final. */
  readonly finality: bigint
}

/** An authorization is given up only this long after its end, on the clock of the chain. */
const MARGIN_MS = 30_000
const BATCH = 100
/** A claim is looked up on chain from this far before it was made. */
const LOOK_BACK_BLOCKS = 1_000n

/**
 * Learns from the chain what became of payments whose outcome, or whose finality, is open, and
 * books it. Whatever happens at the same time elsewhere is booked once: by id.
 * @param olderThanSeconds leaves those alone that a request is probably still at work on
 * @returns how many are still open
 */
export async function resolvePayments(ports: ResolvePorts, olderThanSeconds = 5): Promise<number> {
  const claims = await ports.claims.unfinished(olderThanSeconds, BATCH)
  const intents = await ports.intents.unfinished(olderThanSeconds, BATCH)
  const work = [
    ...claims.map((claim) => () => resolveClaim(ports, claim)),
    ...intents.map((intent) => () => resolveIntent(ports, intent)),
  ]
  let open = 0
  for (const resolve of work) {
    const done = await resolve().catch((error: unknown) => {
      ports.log.warn({ err: error }, 'a payment is not resolved yet')
      return false
    })
    if (!done) open++
  }
  return open
}

/** Where a settled transfer must be seen before it moves from "in transit". */
async function isFinal({ chain, finality }: ResolvePorts, transfer: Transfer): Promise<boolean> {
  const evidence = await chain.transferEvidence(transfer)
  return evidence.found === 'confirmed' && evidence.confirmations >= finality
}

async function resolveClaim(ports: ResolvePorts, claim: Claim): Promise<boolean> {
  const { claims, ledger, asset, treasury } = ports
  const { payer, nonce } = claim.key as { payer: Hex; nonce: Hex }
  if (claim.state !== 'settled' || claim.transaction === null) {
    const { number } = await ports.chain.head()
    const from = number > LOOK_BACK_BLOCKS ? number - LOOK_BACK_BLOCKS : 0n
    const known = await ports.chain.authorizationOutcome(payer, nonce, from)
    if (known.outcome === 'canceled' || isDead(known, claim.validBefore)) {
      await claims.conclude(claim.key, 'failed')
      return true
    }
    if (known.outcome !== 'used') return false
    const paid = {
      tx: known.tx,
      token: asset.address,
      from: payer,
      to: treasury,
      value: claim.amount,
    }
    const evidence = await ports.chain.transferEvidence({ ...paid, nonce })
    if (evidence.found !== 'confirmed') {
      await claims.conclude(claim.key, 'failed', known.tx) // the nonce paid somebody else
      return true
    }
    await bookPayment(ledger, claim, known.tx)
    await claims.conclude(claim.key, 'settled', known.tx)
    return false // final at the next look, when it is deep enough
  }
  const tx = claim.transaction as Hex
  const value = claim.amount
  const seen = await isFinal(ports, { tx, token: asset.address, from: payer, to: treasury, value })
  if (!seen) return false
  await ledger.post(
    { type: 'receipt.confirmed', amount: value as Micros },
    { owner: await ledger.account('assets:usdc:base:in-transit'), id: claim.id, meta: { tx } },
  )
  await claims.conclude(claim.key, 'confirmed')
  return true
}

async function resolveIntent(ports: ResolvePorts, intent: Intent): Promise<boolean> {
  const { intents, ledger, asset } = ports
  const hold = { call: intent.call, owner: await ledger.account(intent.owner) }
  if (intent.state !== 'paid' || intent.transaction === null) {
    const known = await ports.chain.authorizationOutcome(
      intent.payer,
      intent.nonce,
      intent.fromBlock,
    )
    if (known.outcome === 'canceled' || isDead(known, intent.validBefore)) {
      await ledger.release(hold)
      await intents.conclude(intent.call, 'unused')
      return true
    }
    if (known.outcome !== 'used') return false
    await charge(ledger, hold, intent.amount)
    await intents.conclude(intent.call, 'paid', { transaction: known.tx })
    return false
  }
  await charge(ledger, hold, intent.amount) // a crash may have come between receipt and settling
  const { transaction: tx, payer: from, payee: to, amount: value } = intent
  if (!(await isFinal(ports, { tx, token: asset.address, from, to, value }))) return false
  await ledger.post(
    { type: 'external.confirmed', amount: value as Micros },
    { owner: await ledger.account(EXTERNAL_SELLERS), id: intent.call, meta: { tx } },
  )
  await intents.conclude(intent.call, 'confirmed')
  return true
}

/** @throws Error when the hold went back though it was spent: somebody has to look at it */
async function charge(ledger: Ledger, hold: HoldRef, amount: bigint): Promise<void> {
  const { outcome } = await ledger.settle(hold, amount)
  if (outcome === 'applied' || outcome === 'replayed') return
  throw new Error(`call ${hold.call} was paid outside, and is not charged: ${outcome}`)
}

/** Unused, and too late to be used ever, by the clock of the chain. */
const isDead = (
  known: Awaited<ReturnType<Chain['authorizationOutcome']>>,
  validBefore: Date,
): boolean =>
  known.outcome === 'unused' && known.blockTime.getTime() > validBefore.getTime() + MARGIN_MS
