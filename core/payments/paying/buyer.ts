import type { LocalAccount } from 'viem'
import { type Clock, elapsedMs, withTimeout } from '../../clock.ts'
import { EgressError } from '../../egress/errors.ts'
import type { Egress } from '../../egress/http.ts'
import { Fault, type FaultCode } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { json, type Micros, micros } from '../../money.ts'
import { type Buyer, type ExternalRequest, Reply, Taken, Unresolved } from '../../plugin/index.ts'
import type { Asset } from '../chain/asset.ts'
import type { Chain } from '../chain/chain.ts'
import { judgeAuthorization, type PaidVerdict } from '../chain/verdict.ts'
import type { OutgoingSwitch } from '../operations/outgoing-switch.ts'
import type { Intents, OutflowCaps } from './intents.ts'
import type { ListedTerms, ListedTermsStore } from './listed-terms.ts'
import { deliveredReply, failureExtras, isCompleteResponse } from './replies.ts'
import { PaymentTermsError, type Terms } from './terms.ts'
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
  /** Every address of the hub: none of them may be paid. */
  readonly ownWallets: readonly string[]
  /** The most that one purchase may cost. */
  readonly maxAmount: Micros
  /** The most that may be paid in a UTC day. */
  readonly caps: OutflowCaps
  readonly outgoing: OutgoingSwitch
  /** What listed sellers were seen to ask for. */
  readonly listedTerms: ListedTermsStore
  /** Blocks on top of a transfer before it is final. */
  readonly finality: bigint
}

/**
 * Buys from external sellers: asks for the price, then, once the caller's money is held, signs,
 * commits what was signed, sends it once and tells what is known.
 */
export function createBuyer(ports: BuyerDeps): Buyer {
  const { egress, intents, maxAmount, outgoing } = ports
  return {
    maxAmount,
    quote: async (request) => {
      await outgoing.assertNotPaused()
      const { terms, amount } = await quoteRequest(ports, withMethod(request))
      return { amount, terms }
    },
    pay: async ({ id, input, payer, terms, park }) => {
      const start = elapsedMs()
      const order = { id, payer, url: input.url, terms: terms as Terms }
      const committed = await commitPayment(ports, order)
      if (elapsedMs() - start > SEND_TIMEOUT_MS) throw await abandonPayment(ports, id)
      park?.(true)
      const outcome = await sendPaid(egress, withMethod(input), committed.signed)
      if (outcome.outcome === 'unresolved' && !outcome.sent) {
        await intents.conclude(id, 'unused', { reason: outcome.reason })
        park?.(false)
        throw new Fault(outcome.reason, outcome.note)
      }
      return conclude(ports, order, outcome, committed)
    },
  }
}

/**
 * A signature that would leave later than this stays here: its call could reach the deadline, and
 * the caller have the money back, while the seller is being paid.
 */
const SEND_TIMEOUT_MS = 15_000

async function abandonPayment({ intents }: BuyerDeps, call: string): Promise<Fault> {
  await intents.conclude(call, 'unused', { reason: 'timeout' })
  return new Fault('timeout')
}

/**
 * The price and terms of a seller. One that is listed is held to what the hub's own probe saw: more
 * than that is paid only where the caller has named a maximum, another payee is told.
 */
async function quoteRequest(ports: BuyerDeps, request: ReturnType<typeof withMethod>) {
  const { egress, intents, listedTerms: pins, ownWallets } = ports
  const { url, method, max_price_microdollars: max } = request
  const [payee, pin] = URL.canParse(url)
    ? await Promise.all([intents.knownPayee(url), pins.find(method, url)])
    : []
  const named = max === undefined ? ports.maxAmount : micros(max)
  const policy = {
    maxAmount: named < ports.maxAmount ? named : ports.maxAmount,
    ownWallets,
    knownPayTo: [payee, pin?.payTo].filter((one) => one !== undefined),
    listedPrice: max === undefined ? pin?.price : undefined,
  }
  const quoting = quoteExternal(egress, request, policy)
  const quote = await withFaults(pin ? requestProbeOnBadTerms(pins, pin, quoting) : quoting, pin)
  if (pin && (quote.terms.payToChanged || quote.amount !== pin.price)) await pins.requestProbe(pin)
  return quote
}

async function requestProbeOnBadTerms<T>(
  pins: ListedTermsStore,
  pin: ListedTerms,
  quoting: Promise<T>,
): Promise<T> {
  try {
    return await quoting
  } catch (error) {
    if (error instanceof PaymentTermsError) await pins.requestProbe(pin)
    throw error
  }
}

const withMethod = (request: ExternalRequest) => ({ ...request, method: request.method ?? 'GET' })

interface PurchaseOrder {
  /** The call. */
  readonly id: string
  readonly payer: string
  readonly url: string
  readonly terms: Terms
}

interface CommittedPayment {
  readonly signed: SignedPayment
  readonly fromBlock: bigint
}

/** Signs, and has it in the database before a byte of the signature leaves (case A092). */
async function commitPayment(
  { account, chain, clock, intents, asset, caps }: BuyerDeps,
  order: PurchaseOrder,
): Promise<CommittedPayment> {
  const { number: fromBlock } = await chain.head()
  const signed = await withFaults(signPayment(account, order.terms, clock.now()))
  const { network, address } = asset
  const { id: call, url } = order
  await intents.commit(
    { call, payer: order.payer, url, network, asset: address, fromBlock, signed },
    caps,
  )
  return { signed, fromBlock }
}

/**
 * Notes and tells the outcome of what was sent. The money is parked: whatever fails here, an intent
 * that could not be noted stays open, and is resolved later.
 */
async function conclude(
  ports: BuyerDeps,
  { id, terms }: PurchaseOrder,
  outcome: PaymentOutcome,
  committed: CommittedPayment,
): Promise<Reply | Unresolved | Taken> {
  const { intents, log } = ports
  const note = (...what: Parameters<Intents['conclude']>): Promise<void> =>
    intents
      .conclude(...what)
      .catch((err: unknown) => log.error({ err, call: id }, 'intent not noted'))
  const { response, tx } = outcome
  const status = response?.status
  if (outcome.outcome === 'paid') {
    await note(id, 'paid', { transaction: tx, status })
    return deliveredReply(outcome.response, terms, tx)
  }
  const { reason, note: detail } = outcome
  const transfer = await findPayment(ports, committed)
  if (transfer && response && isCompleteResponse(outcome)) {
    await note(id, 'paid', { transaction: transfer.tx, status })
    return deliveredReply(response, terms, transfer.tx)
  }
  response?.stream?.destroy()
  const extras = failureExtras(id, terms, committed.signed, response, transfer)
  if (transfer) {
    await note(id, 'paid', { transaction: transfer.tx, status, reason })
    return new Taken(reason, `${detail} It has taken the payment.`, extras)
  }
  await note(id, 'unresolved', { transaction: tx, status, reason })
  return new Unresolved(reason, detail, extras)
}

/**
 * Looks up the payment on the chain, where one block is enough: a charge that does not last is
 * refunded. Undefined if the chain has no transfer yet or does not answer in time; the job
 * `resolve-payments` then learns the outcome.
 */
async function findPayment(
  ports: BuyerDeps,
  { signed, fromBlock }: CommittedPayment,
): Promise<PaidVerdict | undefined> {
  const authorized = { ...signed, validBefore: expiryOf(signed), fromBlock }
  const found = await withTimeout(
    CHAIN_LOOKUP_TIMEOUT_MS,
    judgeAuthorization({ ...ports, finality: 1n }, authorized),
  )
  return found?.is === 'paid' ? found : undefined
}

const CHAIN_LOOKUP_TIMEOUT_MS = 10_000

/** A seller may ask for any number; more than this is no price. */
const PLAUSIBLE_PRICE_MAX = 1_000_000_000_000n

/** Errors of egress and terms carry codes of the fault table already. */
async function withFaults<T>(work: Promise<T>, pin?: ListedTerms): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof EgressError || error instanceof PaymentTermsError) {
      const upstream = error instanceof EgressError ? error.response?.status : undefined
      const asked = error instanceof PaymentTermsError ? error.asked : undefined
      const extras = {
        ...(upstream === undefined ? {} : { upstream: { status: upstream } }),
        ...(asked === undefined || asked > PLAUSIBLE_PRICE_MAX
          ? {}
          : { price_microdollars: json(asked) }),
        ...(asked === undefined || pin === undefined
          ? {}
          : { listed_price_microdollars: json(pin.price) }),
      }
      throw new Fault(error.code satisfies FaultCode, error.message, { extras, cause: error })
    }
    throw error
  }
}
