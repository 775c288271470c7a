import type { LocalAccount } from 'viem'
import { type Clock, elapsedMs } from '../clock.ts'
import { EgressError } from '../egress/errors.ts'
import { answerableHeaders } from '../egress/headers.ts'
import type { Egress } from '../egress/http.ts'
import { Fault, type FaultCode } from '../errors.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { creditsOf } from '../ledger/postings.ts'
import type { Log } from '../log.ts'
import { json, type Micros } from '../money.ts'
import { type Buyer, type ExternalRequest, Reply, Unresolved } from '../plugin.ts'
import type { Asset } from './asset.ts'
import { type PaidOutcome, quoteExternal, sendPaid, signPayment } from './buying.ts'
import type { Chain } from './chain.ts'
import type { Intents } from './intents.ts'
import { PaymentTermsError, type Terms } from './terms.ts'

export interface BuyerPorts {
  readonly egress: Egress
  readonly chain: Chain
  readonly intents: Intents
  readonly ledger: Ledger
  readonly clock: Clock
  readonly log: Log
  readonly asset: Asset
  /** The spend wallet. */
  readonly account: LocalAccount
  /** Every address of the hub: none of them may be paid. */
  readonly ownWallets: readonly string[]
  /** The most that one purchase may cost. */
  readonly maxAmount: Micros
}

/**
 * Buys from external sellers: asks for the price, then, once the caller's money is held, signs,
 * commits what was signed, sends it once and tells what is known.
 */
export function createBuyer(ports: BuyerPorts): Buyer {
  const { egress, ownWallets, maxAmount } = ports
  return {
    maxAmount,
    quote: async (request) => {
      const { terms, amount } = await asFault(
        quoteExternal(egress, withMethod(request), { maxAmount, ownWallets }),
      )
      return { amount, terms }
    },
    pay: async ({ id, input, payer, terms }) => {
      const start = elapsedMs()
      const signed = await commitPayment(ports, {
        id,
        payer,
        url: input.url,
        terms: terms as Terms,
      })
      if (elapsedMs() - start > SEND_WITHIN_MS) throw await tooLate(ports, id)
      const outcome = await sendPaid(egress, withMethod(input), signed)
      return conclude(ports, id, outcome, signed.value)
    },
  }
}

/**
 * A signature that would leave later than this stays here: its call could reach the deadline, and
 * the caller have the money back, while the seller is being paid.
 */
const SEND_WITHIN_MS = 15_000

async function tooLate({ intents }: BuyerPorts, call: string): Promise<Fault> {
  await intents.conclude(call, 'unused', { reason: 'timeout' })
  return new Fault('timeout')
}

const withMethod = (request: ExternalRequest) => ({ ...request, method: request.method ?? 'GET' })

/** Signs, and has it in the database before a byte of the signature leaves (case A092). */
async function commitPayment(
  { account, chain, clock, intents, ledger, asset }: BuyerPorts,
  order: {
    readonly id: string
    readonly payer: string
    readonly url: string
    readonly terms: Terms
  },
) {
  const { number: fromBlock } = await chain.head()
  const owner = await ledger.account(creditsOf(order.payer))
  const signed = await asFault(signPayment(account, order.terms, clock.now()))
  const { network, address } = asset
  const { id: call, url } = order
  await intents.commit({ call, owner, url, network, asset: address, fromBlock, signed })
  return signed
}

/**
 * Notes and tells the outcome. Once the signature has left, nothing may throw, for that would give
 * the caller the money back: an intent that could not be noted stays open, and is resolved later.
 */
async function conclude(
  { intents, log }: BuyerPorts,
  call: string,
  outcome: PaidOutcome,
  amount: bigint,
): Promise<Reply | Unresolved> {
  const { response } = outcome
  const note = (...what: Parameters<Intents['conclude']>): Promise<void> =>
    intents.conclude(...what).catch((err: unknown) => log.error({ err, call }, 'intent not noted'))
  if (outcome.outcome === 'paid') {
    await note(call, 'paid', { transaction: outcome.tx })
    const headers = answerableHeaders(outcome.response.headers)
    const receipt = headers['payment-response']
    return new Reply(outcome.response.body, {
      status: outcome.response.status,
      headers: receipt ? { ...headers, 'X-Upstream-Payment-Response': receipt } : headers,
    })
  }
  const { reason, note: detail, sent, tx } = outcome
  if (!sent) {
    await intents.conclude(call, 'unused', { reason })
    throw new Fault(reason, detail)
  }
  await note(call, 'unresolved', { transaction: tx, reason })
  const payment = {
    state: 'unresolved',
    amount_microdollars: json(amount),
    next: 'Held until the chain shows whether the seller took it; then charged or given back.',
  }
  return new Unresolved(reason, detail, {
    payment,
    upstream: response && { status: response.status },
  })
}

/** Errors of egress and terms carry codes of the fault table already. */
async function asFault<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof EgressError || error instanceof PaymentTermsError) {
      const upstream = error instanceof EgressError ? error.response?.status : undefined
      const extras = upstream === undefined ? {} : { upstream: { status: upstream } }
      throw new Fault(error.code satisfies FaultCode, error.message, { extras, cause: error })
    }
    throw error
  }
}
