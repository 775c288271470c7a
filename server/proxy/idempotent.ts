import { deadlineOf } from '../../core/catalog/services/deadline.ts'
import { daysBefore, monthName } from '../../core/clock.ts'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { freeCallsOf } from '../../core/ledger/postings.ts'
import type { Log } from '../../core/log.ts'
import type { Micros } from '../../core/money.ts'
import type { Standing } from '../../core/usage/account-status.ts'
import type { Idempotency, Turn } from '../../core/usage/idempotency.ts'
import type { KeptAnswer } from '../../core/usage/kept-answers.ts'
import type { FundingSource, Funds, Offer, Outcome, Receipt, Steps } from './call.ts'
import type { Sources } from './fund.ts'
import type { ReceiptOf } from './respond.ts'

export interface IdempotentPorts {
  readonly idempotency: Idempotency
  readonly standing: Standing
  readonly owed: Sources['x402']['owed']
  readonly receiptOf: ReceiptOf
  readonly log: Log
  /** Seconds that a hold outlives its call's deadline. */
  readonly holdMarginSeconds: number
}

/**
 * Finds money once for each Idempotency-Key. A key stands for an input, so bad input uses none up;
 * a caller without a key of the hub has its payment, which pays once anyway.
 */
export const createIdempotent =
  (fund: Steps['fund'], ports: IdempotentPorts): Steps['fund'] =>
  async (caller, offer, request) => {
    const { idempotencyKey: key } = request
    if (key === undefined || caller.keyId === null || offer.complaint) {
      return await fund(caller, offer, request)
    }
    const { idempotency, receiptOf } = ports
    const begun = idempotency.begin({
      owner: caller.credits,
      key,
      inputs: offer.requestHash.toString('hex'),
      call: offer.call,
      payersAt: (begun) => payersOf(caller, offer, begun),
      seconds: deadlineOf(offer.offering.endpoint) + ports.holdMarginSeconds,
    })
    const turn = await begun.catch((error: unknown) => raiseWithReceipt(error, receiptOf))
    if (turn.kept) return new Repeated(turn.kept, caller, ports.standing)
    try {
      const owed = turn.again ? await ports.owed(offer) : undefined
      return new Once(owed ?? (await fund(caller, offer, request)), turn, offer.call, ports)
    } catch (error) {
      await idempotency.end(turn, offer.call, false)
      throw error
    }
  }

/** Whose answer is no longer kept has the receipt of what was paid for it. */
async function raiseWithReceipt(error: unknown, receiptOf: ReceiptOf): Promise<never> {
  if (!(error instanceof Fault && error.code === 'answer_expired')) throw error
  const receipt = await receiptOf(String(error.extras['call_id']))
  throw new Fault(error.code, undefined, {
    extras: { ...error.extras, ...(receipt !== undefined && { receipt }) },
  })
}

/** The accounts whose holds may pay: credits, and the free calls of its month, or of the next. */
function payersOf({ credits, principal }: Caller, { offering }: Offer, begun: Date) {
  const { slug } = offering.service
  const months = [begun, daysBefore(begun, -1)].map(monthName)
  return [credits.code, ...months.map((month) => freeCallsOf(principal, slug, month))]
}

/** Funds whose answer is kept before they are charged. */
class Once implements Funds {
  readonly keeps = true
  readonly source: FundingSource
  readonly payer: string
  readonly kept: KeptAnswer | undefined
  readonly paid: Funds['paid']
  readonly #funds: Funds
  readonly #turn: Turn
  readonly #call: string
  readonly #idempotency: Idempotency
  readonly #log: Log
  #open = true

  constructor(funds: Funds, turn: Turn, call: string, { idempotency, log }: IdempotentPorts) {
    this.source = funds.source
    this.payer = funds.payer
    this.kept = funds.kept
    this.paid = funds.paid
    this.#funds = funds
    this.#turn = turn
    this.#call = call
    this.#idempotency = idempotency
    this.#log = log
  }

  get parked(): boolean {
    return this.#funds.parked ?? false
  }

  park(parked: boolean): void {
    this.#funds.park?.(parked)
  }

  told(fault: Fault): Fault {
    return this.#funds.told?.(fault) ?? fault
  }

  /** An unresolved call keeps its key busy until its hold is resolved. */
  async settle(outcome: Outcome): Promise<Receipt> {
    const isAnswer = outcome.kind === 'delivered' || outcome.kind === 'taken'
    if (isAnswer)
      await this.#idempotency.keep(this.#call, { call: outcome.repeats ?? this.#call, ...outcome })
    const receipt = await this.#funds.settle(outcome)
    // What was charged is answered: an end that is not noted is found in the journal later.
    if (isAnswer)
      await this.#idempotency.end(this.#turn, this.#call, true).catch((error: unknown) => {
        this.#log.error({ err: error, call: this.#call }, 'the end of a keyed call was not noted')
      })
    this.#open = !isAnswer && outcome.kind !== 'unresolved'
    return receipt
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#funds[Symbol.asyncDispose]()
    if (this.#open && !this.parked) await this.#idempotency.end(this.#turn, this.#call, false)
  }
}

/** The answer of the first request once more. It costs nothing. */
class Repeated implements Funds {
  readonly source = 'none'
  readonly payer: string
  readonly kept: KeptAnswer
  readonly #caller: Caller
  readonly #standing: Standing

  constructor(kept: KeptAnswer, caller: Caller, standing: Standing) {
    this.payer = caller.keyId
    this.kept = kept
    this.#caller = caller
    this.#standing = standing
  }

  async settle(): Promise<Receipt> {
    return {
      source: this.source,
      charged: 0n as Micros,
      balance: await this.#standing.balance(this.#caller.credits),
      headers: { 'Idempotency-Replayed': 'true' },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

const KEY = /^[\x21-\x7e]{1,255}$/

/**
 * Reads Idempotency-Key: a structured-field string, or the same without quotes.
 * @throws Fault `validation_failed` for none of 1 to 255 visible characters
 */
export function idempotencyKeyOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header
  if (KEY.test(key)) return key
  throw new Fault('validation_failed', 'Idempotency-Key: 1 to 255 visible ASCII characters.')
}
