import { Fault } from '../../../core/errors.ts'
import type { AccountRef, HoldRef, Ledger } from '../../../core/ledger/ledger.ts'
import type { Micros } from '../../../core/money.ts'
import type { FundingSource, Funds, Outcome, Receipt } from '../call.ts'

/** A hold in the ledger that pays one call: credits, or one free call. */
export class LedgerFunds implements Funds {
  readonly source: FundingSource
  readonly payer: string
  readonly #ledger: Ledger
  readonly #hold: HoldRef
  readonly #chargeOf: (charged: Micros) => bigint
  readonly #balanceOf: (ownerBalance: bigint) => Micros | Promise<Micros>
  /** Open funds go back when they leave scope; parked and resolved ones do not. */
  #open = true
  #parked = false

  /**
   * @param chargeOf what a charge in microdollars takes from the hold, in units of its asset
   * @param balanceOf the caller's credits, given what the owner's account holds now
   */
  constructor(
    source: FundingSource,
    payer: string,
    ledger: Ledger,
    hold: HoldRef,
    chargeOf: (charged: Micros) => bigint,
    balanceOf: (ownerBalance: bigint) => Micros | Promise<Micros>,
  ) {
    this.source = source
    this.payer = payer
    this.#ledger = ledger
    this.#hold = hold
    this.#chargeOf = chargeOf
    this.#balanceOf = balanceOf
  }

  get parked(): boolean {
    return this.#parked
  }

  park(parked: boolean): void {
    this.#parked = parked
  }

  /** @throws HoldExpired for what was delivered too late to be charged */
  async settle(outcome: Outcome): Promise<Receipt> {
    this.#open = false
    if (outcome.kind === 'unresolved') return await this.#receipt(0n as Micros, undefined)
    const charged = ('charged' in outcome ? outcome.charged : 0n) as Micros
    const taken = 'charged' in outcome ? this.#chargeOf(charged) : 0n
    const { outcome: result, balance } =
      taken > 0n
        ? await this.#ledger.settle(this.#hold, taken)
        : await this.#ledger.release(this.#hold)
    if (result !== 'applied' && result !== 'replayed') {
      const state = await this.#ledger.stateOf(this.#hold)
      const wentBack = state === 'expired' || state === 'released'
      if (!wentBack) throw new Error(`call ${this.#hold.call} not settled: ${result}`)
      if (taken > 0n) throw new HoldExpired()
    }
    return await this.#receipt(this.source === 'credits' ? charged : (0n as Micros), balance)
  }

  async #receipt(charged: Micros, ownerBalance: bigint | undefined): Promise<Receipt> {
    const balance = ownerBalance === undefined ? undefined : await this.#balanceOf(ownerBalance)
    return { source: this.source, charged, balance, entry: this.#hold.call }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open || this.#parked) return
    this.#open = false
    await this.#ledger.release(this.#hold)
  }
}

/** The hold went back before its call was settled: nothing was charged, nothing is delivered. */
export class HoldExpired extends Fault {
  constructor() {
    super('service_unavailable', 'The call took longer than its price was held. Send it again.', {
      extras: { reason: 'hold_expired' },
    })
  }
}

export const holdOf = (call: string, owner: AccountRef): HoldRef => ({ call, owner })
