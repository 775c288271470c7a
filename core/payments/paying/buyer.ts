import type { LocalAccount } from 'viem'
import { type Clock, elapsedMs } from '../../clock.ts'
import type { Egress } from '../../egress/http.ts'
import { Fault } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { type Micros, micros } from '../../money.ts'
import { componentOf, logFailure, outagesOf } from '../../outages.ts'
import {
  type Buyer,
  type ExternalRequest,
  type QuoteCaution,
  Reply,
  Taken,
  Unresolved,
} from '../../plugin/index.ts'
import type { Asset } from '../chain/asset.ts'
import { type Chain, ChainUnavailable } from '../chain/chain.ts'
import type { OutgoingSwitch } from '../operations/outgoing-switch.ts'
import { SignerUnavailable } from '../wallets/remote-account.ts'
import type { Intents, OutflowCaps, UnresolvedCaps } from './intents.ts'
import { findSent } from './judge-sent.ts'
import type { ListedTermsStore } from './listed-terms.ts'
import { toPurchaseFault } from './purchase-faults.ts'
import { deliveredReply, failureExtras, isComplete, LOST_PAYMENT } from './replies.ts'
import type { Terms } from './terms.ts'
import { PaymentTermsError } from './terms-error.ts'
import {
  expiryOf,
  type PaymentOutcome,
  quoteExternal,
  type SignedPayment,
  sendPaid,
  signPayment,
} from './x402-client.ts'

export interface BuyerDeps {
  readonly egress: Egress
  readonly chain: Chain
  readonly intents: Intents
  readonly clock: Clock
  readonly log: Log
  readonly asset: Asset
  /** The spend wallet. */
  readonly account: LocalAccount
  /** Addresses of the hub, none of which may be paid. */
  readonly ownWallets: readonly string[]
  /** Maximum price of one purchase. */
  readonly maxAmount: Micros
  /** Limits per UTC day, and of payments without a known outcome. */
  readonly caps: OutflowCaps & UnresolvedCaps
  readonly outgoing: OutgoingSwitch
  /** Terms that the hub's own probe last saw at listed sellers. */
  readonly listedTerms: ListedTermsStore
  /** Returns the warnings about a listing and a request to it. */
  readonly cautionsOf: (
    listing: string,
    request: ReturnType<typeof withMethod>,
  ) => Promise<readonly QuoteCaution[]>
  /** Approves Permit2 for the spend wallet; undefined: nothing is bought at metered prices. */
  readonly approvePermit2?: (() => Promise<unknown>) | undefined
  /** Confirmations after which a small transfer is final. */
  readonly finality: bigint
}

/**
 * Buys from external sellers: fetches the price; once the caller's money is held, signs a payment,
 * commits it, sends it once and returns the outcome.
 */
export function createBuyer(deps: BuyerDeps): Buyer {
  return {
    maxAmount: deps.maxAmount,
    quote: (request) => quote(deps, request).catch(throwFault),
    pay: (purchase) => pay(deps, purchase).catch(throwFault),
  }
}

/** An unavailable database is a fault of the hub, not of the service that buys. */
function throwFault(error: unknown): never {
  if (componentOf(error) !== 'database') throw error
  throw new Fault('service_unavailable', undefined, { cause: error })
}

async function quote(deps: BuyerDeps, request: ExternalRequest) {
  await deps.outgoing.assertNotPaused()
  const { terms, cautions } = await quoteRequest(deps, withMethod(request))
  const codes = cautions.map(({ code }) => code)
  return { amount: terms.amount, terms: { ...terms, cautions: codes }, cautions }
}

async function pay(
  deps: BuyerDeps,
  { id, input, payer, terms, park, charge }: Parameters<Buyer['pay']>[0],
): ReturnType<Buyer['pay']> {
  const { egress, intents } = deps
  const order = { id, payer, url: input.url, terms: terms as Terms, park, charge }
  if (order.terms.facilitator) await approve(deps)
  const start = elapsedMs()
  const committed = await commitPayment(deps, order)
  if (committed.isNew && elapsedMs() - start > SEND_TIMEOUT_MS) {
    await intents.conclude(id, 'unused', { reason: 'timeout' })
    park?.(false)
    throw new Fault('timeout')
  }
  const outcome = committed.isLost
    ? LOST_PAYMENT
    : await sendPaid(egress, withMethod(input), committed.signed)
  if (committed.isNew && outcome.outcome === 'unresolved' && !outcome.sent) {
    await intents.conclude(id, 'unused', { reason: outcome.reason })
    park?.(false)
    throw new Fault(outcome.reason, outcome.note)
  }
  return conclude(deps, order, outcome, committed)
}

/** Lets Permit2 take what the spend wallet signs. @throws Fault `chain_unavailable` */
async function approve({ approvePermit2, log }: BuyerDeps): Promise<void> {
  await approvePermit2?.().catch((err: unknown) => {
    logFailure(log, 'warn', { err, component: 'chain' }, 'failed to approve Permit2')
    throw new Fault('chain_unavailable', undefined, { cause: err })
  })
}

/** Time limit for signing and committing: later, the call's own deadline could free the money. */
const SEND_TIMEOUT_MS = 15_000

/** Caution of a request that lacks a field which the seller requires. */
export const INPUT_INCOMPLETE = 'input_incomplete'

/**
 * Fetches price and terms of a seller. For a listed seller, a price above the last probe is
 * accepted only if the caller set a maximum. Another payee than that of the last delivery or probe,
 * or than before a recent change, is paid only if the caller accepts its address.
 */
async function quoteRequest(deps: BuyerDeps, request: ReturnType<typeof withMethod>) {
  const { clock, egress, intents, listedTerms, ownWallets } = deps
  const { url, method, max_price_microdollars: max, accept_pay_to: acceptedPayTo } = request
  const [payee, listed] = URL.canParse(url)
    ? await Promise.all([intents.knownPayee(url), listedTerms.find(method, url)])
    : []
  const policy = {
    maxAmount: max === undefined ? UNLIMITED : micros(max),
    caps: [deps.maxAmount],
    ownWallets,
    knownPayTo: [payee, listed?.formerPayTo, listed?.payTo].filter((one) => one != null),
    acceptedPayTo,
    buysMetered: deps.approvePermit2 !== undefined,
    listedPrice: max === undefined ? listed?.price : undefined,
  }
  const pendingCautions = listed ? deps.cautionsOf(listed.listing, request) : Promise.resolve([])
  const [quoted, assessed] = await Promise.allSettled([
    quoteExternal(egress, request, policy, clock.now()),
    pendingCautions,
  ])
  const cautions = assessed.status === 'fulfilled' ? assessed.value : []
  if (quoted.status === 'rejected') {
    const error: unknown = quoted.reason
    if (listed && error instanceof PaymentTermsError) await listedTerms.requestProbe(listed)
    const { knownPayTo } = policy
    throw toPurchaseFault(error, { listed, knownPayTo, purchaseMax: deps.maxAmount, cautions })
  }
  const terms = quoted.value
  const hasChanged = terms.payToChanged || terms.amount !== listed?.price
  if (listed && hasChanged) await listedTerms.requestProbe(listed)
  return { terms, cautions }
}

/** No seller may ask for more: prices have at most 78 digits. */
const UNLIMITED = 10n ** 78n

const withMethod = (request: ExternalRequest) => ({ ...request, method: request.method ?? 'GET' })

interface PurchaseOrder {
  /** The call. */
  readonly id: string
  readonly payer: string
  readonly url: string
  readonly terms: Terms
  readonly park: Parameters<Buyer['pay']>[0]['park']
  readonly charge: Parameters<Buyer['pay']>[0]['charge']
}

interface CommittedPayment {
  readonly signed: SignedPayment
  readonly fromBlock: bigint
  /** False if an earlier attempt at the call committed it and may have sent it. */
  readonly isNew: boolean
  /** True if it cannot be sent again: it answers a challenge of MPP, which is not stored. */
  readonly isLost?: boolean
}

/**
 * Signs a payment and commits it to the database before any byte of it is sent. A call that was
 * interrupted keeps its authorization, so that a seller can take the money only once.
 */
async function commitPayment(
  { account, chain, clock, intents, asset, caps, log }: BuyerDeps,
  order: PurchaseOrder,
): Promise<CommittedPayment> {
  const { number: fromBlock } = await chain.head().catch((error: unknown) => {
    if (!(error instanceof ChainUnavailable)) throw error
    throw new Fault('chain_unavailable', undefined, { cause: error })
  })
  const { network, address } = asset
  const { id: call, payer, url, terms, park } = order
  const sign = (earlier?: Parameters<typeof signPayment>[4]): Promise<SignedPayment> =>
    signPayment(account, terms, clock.now(), undefined, earlier).catch((error: unknown) => {
      if (!(error instanceof SignerUnavailable)) throw toPurchaseFault(error)
      throw new Fault('signer_unavailable', undefined, { cause: error })
    })
  const signed = await sign()
  outagesOf(log).succeed('signer')
  const payment = { network, asset: address, fromBlock, signed }
  const payeeAccepted = terms.payToChanged
  const incomplete = terms.cautions?.includes(INPUT_INCOMPLETE) ?? false
  const intent = { call, payer, url, payeeAccepted, incomplete, ...payment }
  park?.(true) // a payment that may be stored needs its hold, also if nobody learns that it is
  const isNew = await intents.commit(intent, caps).catch(async (error: unknown) => {
    const isRefused = error instanceof Fault && !(await intents.find(call, 'signed'))
    if (isRefused) park?.(false)
    throw error
  })
  if (isNew) return { signed, fromBlock, isNew }
  const earlier = await intents.find(call, 'signed')
  if (!earlier && !(await intents.find(call))) {
    park?.(false)
    throw new Fault('upstream_payment_terms', 'The seller repeats a challenge that was answered.')
  }
  const isSameKind = (earlier?.authorized !== null) === signed.isMaximum
  if (earlier?.payee !== signed.to || earlier.amount !== signed.value || !isSameKind) {
    throw new Fault('upstream_payment_terms', 'The seller changed its terms after a payment.')
  }
  const validBefore = BigInt(earlier.validBefore.getTime()) / 1_000n
  if (terms.challenge && earlier.nonce !== signed.nonce) {
    const lost = { ...signed, nonce: earlier.nonce, validBefore }
    return { signed: lost, fromBlock: earlier.fromBlock, isNew, isLost: true }
  }
  const again = await sign({ nonce: earlier.nonce, validBefore })
  return { signed: again, fromBlock: earlier.fromBlock, isNew }
}

/** Stores and returns the outcome of a payment; if it cannot be stored, a job resolves it. */
async function conclude(
  deps: BuyerDeps,
  order: PurchaseOrder,
  outcome: PaymentOutcome,
  committed: CommittedPayment,
): Promise<Reply | Unresolved | Taken> {
  const { intents, log } = deps
  const { id, terms } = order
  const store = (...what: Parameters<Intents['conclude']>): Promise<void> =>
    intents
      .conclude(...what)
      .catch((err: unknown) =>
        logFailure(log, 'error', { err, call: id }, 'failed to store an intent'),
      )
  const { response, tx } = outcome
  const status = response?.status
  if (outcome.outcome === 'paid' && !terms.facilitator) {
    await store(id, 'paid', { transaction: tx, status })
    return deliveredReply(outcome.response, terms, tx)
  }
  const { signed, fromBlock } = committed
  const sent = { ...signed, validBefore: expiryOf(signed), fromBlock, tx }
  const transfer = await findSent(deps, sent, outcome.outcome === 'paid')
  const { reason, note: detail } = outcome.outcome === 'paid' ? UNPROVEN : outcome
  const taken = transfer?.value
  if (taken !== undefined) order.charge(micros(taken))
  if (transfer && response && isComplete(outcome)) {
    await store(id, 'paid', { transaction: transfer.tx, status, taken })
    return deliveredReply(response, terms, transfer.tx)
  }
  response?.stream?.destroy()
  const extras = failureExtras(id, terms, committed.signed, response, transfer)
  if (transfer) {
    await store(id, 'paid', { transaction: transfer.tx, status, reason, taken })
    return new Taken(reason, `${detail} The seller took the payment.`, extras)
  }
  await store(id, 'unresolved', { transaction: tx, status, reason })
  return new Unresolved(reason, detail, extras)
}

/** A receipt does not prove how much of a maximum was taken: the chain does. */
const UNPROVEN = {
  reason: 'upstream_error',
  note: 'The chain does not show yet what the seller took.',
} as const
