import type { Clock } from '../../clock.ts'
import type { HoldRef, HoldState, Ledger } from '../../ledger/ledger.ts'
import { EXTERNAL_SELLERS } from '../../ledger/postings.ts'
import type { Log } from '../../log.ts'
import { type Micros, micros } from '../../money.ts'
import { componentOf, logFailure, outagesOf } from '../../outages.ts'
import type { Asset } from '../chain/asset.ts'
import { judgeTransaction, type PaidVerdict, type PaymentVerdict } from '../chain/verdict.ts'
import { componentOn, type PaymentChains } from '../networks.ts'
import type { Intent, Intents } from '../paying/intents.ts'
import { judgeSent } from '../paying/judge-sent.ts'
import { postEntry } from '../post-entry.ts'
import type { Claims } from '../receiving/claims.ts'
import type { Deposits } from '../receiving/deposits.ts'
import { accountOnShardOf, resolveClaim } from './resolve-claim.ts'

export interface ResolveDeps extends PaymentChains {
  readonly ledger: Ledger
  readonly claims: Claims
  readonly intents: Intents
  readonly deposits: Deposits
  readonly clock: Clock
  readonly log: Log
  readonly asset: Asset
  /** Confirmations on Base after which a small transfer is final. */
  readonly finality: bigint
}

/** Name in the log, for errors of no other component. */
const COMPONENT = 'payment resolution'
const BATCH_SIZE = 100
/** Limit of one run, whatever the backlog. */
const BATCHES_MAX = 50

/**
 * Resolves payments on Base with an open outcome or finality by the chain and posts the result.
 * Entries are idempotent by id, so concurrent runs and requests post each result once.
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
  const claims = await takeClaims(deps, olderThanSeconds)
  const intents = await deps.intents.takeUnfinished(olderThanSeconds, BATCH_SIZE)
  const attempt = (resolve: () => Promise<boolean>) => tryResolving(deps, resolve)
  const isMetered = ({ authorized }: Intent) => authorized !== null
  const work = [
    ...claims.map((claim) => () => resolveClaim(deps, claim)),
    ...intents.filter((each) => !isMetered(each)).map((each) => () => resolveIntent(deps, each)),
  ]
  const outcomes = await resolveAll(deps, work)
  // One after another, so that a transfer settles one purchase.
  for (const intent of intents.filter(isMetered)) {
    outcomes.push(await attempt(() => resolveIntent(deps, intent)))
  }
  return outcomes
}

/** Concurrent requests to the node and entries posted in one group commit. */
const CONCURRENCY = 50

/**
 * Resolves received payments on the further networks, each by its own chain and independent of the
 * others: a node that does not respond delays only the payments on its network.
 * @returns the number of payments still open
 */
export async function resolveNetworkPayments(
  deps: ResolveDeps,
  olderThanSeconds = 5,
): Promise<number> {
  const { networks = [] } = deps
  const open = await Promise.all(
    networks.map(async (network) => {
      const of = { ...deps, ...network }
      const claims = await takeClaims(of, olderThanSeconds)
      const outcomes = await resolveAll(
        of,
        claims.map((claim) => () => resolveClaim(of, claim)),
      )
      return outcomes.filter((done) => !done).length
    }),
  )
  return open.reduce((sum, each) => sum + each, 0)
}

const takeClaims = ({ claims, asset }: ResolveDeps, olderThanSeconds: number) =>
  claims.takeUnfinished(olderThanSeconds, BATCH_SIZE, asset.network)

async function resolveAll(deps: ResolveDeps, work: (() => Promise<boolean>)[]): Promise<boolean[]> {
  const outcomes: boolean[] = []
  while (work.length > 0) {
    const some = work.splice(0, CONCURRENCY)
    outcomes.push(...(await Promise.all(some.map((resolve) => tryResolving(deps, resolve)))))
  }
  return outcomes
}

/** Returns false for a payment that could not be resolved yet. */
const tryResolving = (
  { log, asset }: ResolveDeps,
  resolve: () => Promise<boolean>,
): Promise<boolean> =>
  resolve().catch((err: unknown) => {
    const component = componentOn(componentOf(err) ?? COMPONENT, asset.network)
    logFailure(log, 'warn', { err, component }, 'a payment could not be resolved yet')
    return false
  })

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
