import type { Clock } from '../../clock.ts'
import type { AccountRef, HoldRef, HoldState, Ledger } from '../../ledger/ledger.ts'
import { EXTERNAL_SELLERS, IN_TRANSIT, X402_LOSS } from '../../ledger/postings.ts'
import type { Log } from '../../log.ts'
import { type Micros, micros } from '../../money.ts'
import { componentOf, logFailure, outagesOf } from '../../outages.ts'
import type { Asset } from '../chain/asset.ts'
import type { Chain } from '../chain/chain.ts'
import { judgeTransaction, type PaidVerdict, type PaymentVerdict } from '../chain/verdict.ts'
import type { Intent, Intents } from '../paying/intents.ts'
import { judgeSent } from '../paying/judge-sent.ts'
import { postEntry } from '../post-entry.ts'
import { type Claim, isClosed } from '../receiving/claim.ts'
import type { Claims } from '../receiving/claims.ts'
import type { Deposits } from '../receiving/deposits.ts'
import { judgeClaim } from '../receiving/find-settled.ts'
import { postPayment } from '../receiving/post-payment.ts'

export interface ResolveDeps {
  readonly ledger: Ledger
  readonly chain: Chain
  readonly claims: Claims
  readonly intents: Intents
  readonly deposits: Deposits
  readonly clock: Clock
  readonly log: Log
  readonly asset: Asset
  /** Confirmations after which a small transfer is final. */
  readonly finality: bigint
}

/** Name in the log, for errors of no other component. */
const COMPONENT = 'payment resolution'
const BATCH_SIZE = 100
/** Limit of one run, whatever the backlog. */
const BATCHES_MAX = 50

/**
 * Resolves payments with an open outcome or finality by the chain and posts the result. Entries are
 * idempotent by id, so concurrent runs and requests post each result once.
 * @param olderThanSeconds skips payments that a request is probably still processing
 * @returns the number of payments still open
 */
export async function resolvePayments(deps: ResolveDeps, olderThanSeconds = 5): Promise<number> {
  let open = 0
  for (let batch = 0; batch < BATCHES_MAX; batch++) {
    const outcomes = await resolveBatch(deps, olderThanSeconds)
    open += outcomes.filter((done) => !done).length
    if (outcomes.length < BATCH_SIZE || !outcomes.includes(true)) break
  }
  outagesOf(deps.log).succeed(COMPONENT)
  await deps.deposits.refundUndelivered()
  await deps.deposits.creditIdentified()
  return open
}

async function resolveBatch(deps: ResolveDeps, olderThanSeconds: number): Promise<boolean[]> {
  const claims = await deps.claims.takeUnfinished(olderThanSeconds, BATCH_SIZE)
  const intents = await deps.intents.takeUnfinished(olderThanSeconds, BATCH_SIZE)
  const attempt = (resolve: () => Promise<boolean>) =>
    resolve().catch((err: unknown) => {
      const component = componentOf(err) ?? COMPONENT
      logFailure(deps.log, 'warn', { err, component }, 'a payment could not be resolved yet')
      return false
    })
  const isMetered = ({ authorized }: Intent) => authorized !== null
  const work = [
    ...claims.map((claim) => () => resolveClaim(deps, claim)),
    ...intents.filter((each) => !isMetered(each)).map((each) => () => resolveIntent(deps, each)),
  ]
  const outcomes: boolean[] = []
  while (work.length > 0) {
    outcomes.push(...(await Promise.all(work.splice(0, CONCURRENCY).map(attempt))))
  }
  // One after another, so that a transfer settles one purchase.
  for (const intent of intents.filter(isMetered)) {
    outcomes.push(await attempt(() => resolveIntent(deps, intent)))
  }
  return outcomes
}

/** Concurrent requests to the node and entries posted in one group commit. */
const CONCURRENCY = 50

async function resolveClaim(deps: ResolveDeps, claim: Claim): Promise<boolean> {
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
  const event = { type: 'receipt.confirmed', amount: value as Micros } as const
  const owner = await ledger.account(IN_TRANSIT)
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
async function postVanishedReceipt({ ledger, log }: ResolveDeps, claim: Claim): Promise<void> {
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
  const event = { type: 'receipt.vanished', credits: payee, recovered, lost } as const
  const meta = { payer: key.payer, nonce: key.nonce }
  const outcome = await ledger.post(event, { owner, id, meta })
  // A replay with other terms is fine: it was reversed before, with another credit balance.
  if (outcome === 'insufficient_funds') throw new Error(`receipt.vanished ${id}: ${outcome}`)
}

async function resolveIntent(deps: ResolveDeps, intent: Intent): Promise<boolean> {
  const { intents, ledger } = deps
  const { call, amount } = intent
  const hold = { call, owner: await ledger.account(intent.owner) }
  const verdict = await judgeIntent(deps, intent)
  if (verdict.is === 'open') return false
  if (verdict.is === 'void') {
    await releaseOrRefund(ledger, hold, amount as Micros)
    await intents.recordRefund(call)
    await intents.conclude(call, 'unused')
    return true
  }
  await settleIntent(deps, intent, hold, verdict)
  return true
}

/** Judges a payment by the transaction that the chain showed for it, else by a search. */
async function judgeIntent(deps: ResolveDeps, intent: Intent): Promise<PaymentVerdict> {
  const { call, state, payer: from, payee: to, amount, authorized, tx } = intent
  const isMaximum = authorized !== null
  if (state === 'paid' && isMaximum && tx) {
    const known = await judgeTransaction(deps, { tx, from, to, value: amount })
    if (known) return known
  }
  return judgeSent(deps, {
    ...intent,
    from,
    to,
    value: authorized ?? amount,
    isMaximum,
    tx: tx ?? undefined,
    settledOthers: (txs) => deps.intents.settledOthers(call, txs),
  })
}

/**
 * Books a payment to a seller that is final on chain. A charge never grows: if a reorganization of
 * the chain replaced the settlement by one of less, the caller gets the difference back; by one of
 * more, the whole charge, and the platform pays.
 */
async function settleIntent(
  { intents, ledger, log }: ResolveDeps,
  { call, amount, state }: Intent,
  hold: HoldRef,
  { tx, value: taken = amount }: PaidVerdict,
): Promise<void> {
  const charged = await settleHold(ledger, hold, taken)
  const isCovered = charged >= taken
  if (!isCovered) {
    log.error({ call, tx, amount: String(taken) }, 'no charge covers an external payment')
  }
  const sellers = await accountOnShardOf(hold.owner, ledger.account(EXTERNAL_SELLERS))
  const type = isCovered ? 'external.confirmed' : 'external.lost'
  const reference = { id: call, meta: { tx } }
  await postEntry(ledger, { type, amount: micros(taken) }, { owner: sellers, ...reference })
  const excess = isCovered ? charged - taken : charged
  if (excess > 0n) {
    const event = {
      type: 'external.refunded',
      credits: hold.owner.code,
      amount: micros(excess),
    } as const
    await postEntry(ledger, event, { owner: hold.owner, ...reference })
  }
  if (charged > 0n) await intents.recordCharge(call, charged)
  const known = state === 'paid' ? {} : { taken }
  await intents.conclude(call, 'confirmed', { transaction: tx, ...known })
}

/** Corrects records of unresolved calls that were written after their payments were resolved. */
export async function recordResolved(
  { intents, ledger }: Pick<ResolveDeps, 'intents' | 'ledger'>,
  calls: readonly string[],
): Promise<void> {
  for (const call of calls) {
    const intent = await intents.find(call)
    if (!intent) continue
    const hold = { call, owner: await ledger.account(intent.owner) }
    const charged = await ledger.chargeOf(hold)
    if (charged !== undefined) await intents.recordCharge(call, charged)
    else if (isReturned(await ledger.stateOf(hold))) await intents.recordRefund(call)
  }
}

/** @returns the charge: zero if the hold was returned although it was spent */
async function settleHold(ledger: Ledger, hold: HoldRef, amount: bigint): Promise<bigint> {
  const { outcome } = await ledger.settle(hold, amount)
  if (outcome === 'applied' || outcome === 'replayed') return amount
  const charged = await ledger.chargeOf(hold)
  if (charged !== undefined) return charged
  if (isReturned(await ledger.stateOf(hold))) return 0n
  throw new Error(`call ${hold.call} was paid externally but not charged: ${outcome}`)
}

const isReturned = (state: HoldState | undefined): boolean =>
  state === 'released' || state === 'expired'

/** Places a sharded account on the shard of the first account. */
const accountOnShardOf = async (
  { shard }: AccountRef,
  account: Promise<AccountRef>,
): Promise<AccountRef> => ({ ...(await account), shard })

/** Releases the hold of a payment that was never taken, or refunds its charge. */
async function releaseOrRefund(ledger: Ledger, hold: HoldRef, amount: Micros): Promise<void> {
  const state = await ledger.stateOf(hold)
  if (state === 'open') {
    const { outcome } = await ledger.release(hold)
    if (outcome !== 'applied' && outcome !== 'replayed') {
      throw new Error(`hold of call ${hold.call} was not released: ${outcome}`)
    }
  }
  if (state !== 'settled') return
  const credits = hold.owner.code
  const event = { type: 'external.refunded', credits, amount } as const
  await postEntry(ledger, event, { owner: hold.owner, id: hold.call })
}
