import type { AnyEndpoint } from '../plugin/index.ts'
import { UsageMeter } from '../plugin/metered.ts'

/**
 * Usage that a handler in an isolated plugin reports. The hub ends a stream when more is reported
 * than is covered, so that excess is sent after what the plugin has buffered before.
 */
export class UsageReports {
  readonly #meter: UsageMeter | undefined
  readonly #send: (unit: string, quantity: string | null) => void

  /** @param send sends a report to the hub, which rejects a quantity of null */
  constructor(
    price: AnyEndpoint['price'],
    reserved: bigint,
    send: (unit: string, quantity: string | null) => void,
  ) {
    const isMetered = typeof price === 'object' && price.unit !== undefined
    this.#meter = isMetered ? new UsageMeter(price, reserved) : undefined
    this.#send = send
  }

  get isExhausted(): boolean {
    return this.#meter?.isExhausted ?? false
  }

  /** @throws RangeError for usage that the price does not name, which the hub rejects too */
  add(unit: string, quantity: number | bigint): boolean {
    try {
      if (!this.#meter) throw new RangeError('the price is not metered')
      const before = this.#meter.usage.quantity
      const isCovered = this.#meter.add(unit, quantity)
      this.#send(unit, String(this.#meter.usage.quantity - before))
      return isCovered
    } catch (error) {
      this.#send('', null)
      throw error
    }
  }

  reportExcess(): void {
    if (this.#meter?.isExhausted) this.#send(this.#meter.usage.unit, '1')
  }
}
