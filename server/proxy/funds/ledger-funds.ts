import { HoldExpired } from '../../../core/ledger/hold-expired.ts'
import type { HoldRef, Ledger } from '../../../core/ledger/ledger.ts'
import type { Micros } from '../../../core/money.ts'
import type { CallOutcome, Charge, FundingSource, Funds } from '../call-types.ts'

type ChargedOutcome = Extract<CallOutcome, { readonly charged: Micros }>

/** A hold in the ledger that pays for one call: credits, or free calls or units. */
export class LedgerFunds implements Funds {
  readonly source: FundingSource
  readonly payer: string
  readonly #ledger: Ledger
  readonly #hold: HoldRef
  readonly #unitsOf: (outcome: ChargedOutcome) => bigint
  readonly #balanceOf: (ownerBalance: bigint) => Micros | Promise<Micros>
  /** True until the hold is settled or released, or the call is unresolved. */
  #isOpen = true
  #isParked = false

  /**
   * @param unitsOf returns what a call costs in units of the hold's asset
   * @param balanceOf returns the caller's credits, given the balance of the hold's owner
   */
  constructor(
    source: FundingSource,
    payer: string,
    ledger: Ledger,
    hold: HoldRef,
    unitsOf: (outcome: ChargedOutcome) => bigint,
    balanceOf: (ownerBalance: bigint) => Micros | Promise<Micros>,
  ) {
    this.source = source
    this.payer = payer
    this.#ledger = ledger
    this.#hold = hold
    this.#unitsOf = unitsOf
    this.#balanceOf = balanceOf
  }

  get parked(): boolean {
    return this.#isParked
  }

  get isSettled(): boolean {
    return !this.#isOpen
  }

  park(parked: boolean): void {
    this.#isParked = parked
  }

  /** @throws HoldExpired if the hold was released before a charge */
  async settle(outcome: CallOutcome): Promise<Charge> {
    this.#isOpen = false
    if (outcome.kind === 'unresolved') return this.#chargeOf(0n as Micros, undefined)
    const charged = ('charged' in outcome ? outcome.charged : 0n) as Micros
    const units = 'charged' in outcome ? this.#unitsOf(outcome) : 0n
    const { outcome: result, balance } =
      units > 0n
        ? await this.#ledger.settle(this.#hold, units)
        : await this.#ledger.release(this.#hold)
    if (result !== 'applied' && result !== 'replayed') {
      const state = await this.#ledger.stateOf(this.#hold)
      const isReleased = state === 'expired' || state === 'released'
      if (!isReleased) throw new Error(`call ${this.#hold.call} not settled: ${result}`)
      if (units > 0n) throw new HoldExpired()
    }
    const amount = this.source === 'credits' ? charged : (0n as Micros)
    return this.#chargeOf(amount, await this.#balanceOf(balance))
  }

  #chargeOf(amount: Micros, balance: Micros | undefined): Charge {
    return { source: this.source, amount, balance, entry: this.#hold.call }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen || this.#isParked) return
    await this.#ledger.release(this.#hold)
    this.#isOpen = false
  }
}
