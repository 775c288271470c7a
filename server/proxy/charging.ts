import { Fault } from '../../core/errors.ts'
import { type Micros, micros } from '../../core/money.ts'
import { type MeteredPrice, type Usage, UsageMeter } from '../../core/plugin/metered.ts'

interface ChargeTerms {
  readonly price: Micros
  readonly metered: MeteredPrice | undefined
}

/**
 * Charge of one call, as its handler lowers it or reports usage: never more than the price that is
 * reserved.
 */
export class Charging {
  readonly #price: Micros
  readonly #meter: UsageMeter | undefined
  #limit: Micros
  #fault: Fault | undefined
  #isClosed = false

  constructor({ price, metered }: ChargeTerms) {
    this.#price = price
    this.#limit = price
    this.#meter = metered && new UsageMeter(metered, price)
  }

  get charged(): Micros {
    const metered = this.#meter?.charged
    return metered === undefined || metered > this.#limit ? this.#limit : metered
  }

  /** Breach of contract by the handler; it fails the call. */
  get fault(): Fault | undefined {
    return this.#fault
  }

  /** True if more usage was reported than the reserved price covers. */
  get isExhausted(): boolean {
    return this.#meter?.isExhausted ?? false
  }

  get isMetered(): boolean {
    return this.#meter !== undefined
  }

  /** @param listener called as soon as more usage is reported than the reserved price covers */
  set onExhausted(listener: () => void) {
    if (this.#meter) this.#meter.onExhausted = listener
  }

  /** @throws Fault `plugin_contract` for more than the price */
  lower(amount: unknown): void {
    const isLower = typeof amount === 'bigint' && amount >= 0n && amount <= this.#price
    if (!isLower) throw this.#fail('The service tried to charge more than its price.')
    this.#limit = micros(amount)
  }

  /**
   * Adds usage. Returns true if the reserved price covers all that was reported.
   * @throws Fault `plugin_contract` if the price is not metered, or not in this unit
   */
  add(unit: string, quantity: number | bigint): boolean {
    if (this.#isClosed) return false
    try {
      if (this.#meter) return this.#meter.add(unit, quantity)
    } catch {
      // reported below
    }
    throw this.#fail('The service reported usage that its price does not name.')
  }

  /** Ignores later reports, because the caller does not receive what they pay for. */
  close(): void {
    this.#isClosed = true
  }

  /** Usage of a call that is charged; nothing for others. */
  usageOf(kind: string): { readonly usage?: Usage } {
    return this.#meter && kind === 'delivered' ? { usage: this.#meter.usage } : {}
  }

  #fail(detail: string): Fault {
    return (this.#fault ??= new Fault('plugin_contract', detail))
  }
}
