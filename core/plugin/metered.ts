import { type Micros, micros } from '../money.ts'

/** Price of a number of units. Called with a usage, it returns its price, rounded up. */
export interface UnitPrice {
  (usage: bigint): Micros
  readonly amount: Micros
  /** Number of units that cost `amount`. */
  readonly per: bigint
}

/**
 * Price by usage, which the handler reports with `call.meter`. `max` is reserved before the work;
 * the price of the usage is charged, never more than `max`, and the rest is released.
 */
export interface MeteredPrice {
  readonly max: Micros
  /** Name of what is counted, in the plural: `tokens`. Lower-case letters, digits and hyphens. */
  readonly unit: string
  readonly of: UnitPrice
}

/** Usage of one call, and the price of its unit. */
export interface Usage {
  readonly unit: string
  readonly quantity: bigint
  /** Microdollars for `per` units. */
  readonly amount: bigint
  readonly per: bigint
}

/**
 * Price of units, for a metered price.
 * @example { max: usd('0.05'), unit: 'tokens', of: unitPrice(usd('0.002'), 1_000) }
 */
export function unitPrice(amount: Micros, per: number | bigint = 1n): UnitPrice {
  const rate = { amount, per: BigInt(per) }
  return Object.assign((usage: bigint) => usagePrice(rate, usage), rate)
}

type Rate = Pick<UnitPrice, 'amount' | 'per'>

/** Price of a usage, rounded up to whole microdollars. */
const usagePrice = ({ amount, per }: Rate, usage: bigint): Micros =>
  micros((usage * amount + per - 1n) / per)

/** Units that an amount pays for. */
export const coveredUnits = (reserved: bigint, { amount, per }: Rate): bigint =>
  (reserved * per) / amount

/**
 * Counts the usage that a handler reports. Usage beyond what the reserved amount covers is not
 * counted, so that the charge cannot exceed it.
 */
export class UsageMeter {
  readonly #price: MeteredPrice
  readonly #covered: bigint
  #quantity = 0n
  #isExhausted = false
  #onExhausted: () => void = () => undefined

  constructor(price: MeteredPrice, reserved: bigint) {
    this.#price = price
    this.#covered = coveredUnits(reserved, price.of)
  }

  get charged(): Micros {
    return usagePrice(this.#price.of, this.#quantity)
  }

  get usage(): Usage {
    const { unit, of } = this.#price
    return { unit, quantity: this.#quantity, amount: of.amount, per: of.per }
  }

  /** True if more was reported than the reserved amount covers. */
  get isExhausted(): boolean {
    return this.#isExhausted
  }

  /** @param listener called once, as soon as more is reported than is covered */
  set onExhausted(listener: () => void) {
    this.#onExhausted = listener
    if (this.#isExhausted) listener()
  }

  /**
   * Adds to the usage.
   * @returns true if the reserved amount covers all that was reported
   * @throws RangeError for another unit, or a quantity that is no natural number
   */
  add(unit: string, quantity: number | bigint): boolean {
    const isNatural =
      typeof quantity === 'bigint'
        ? quantity >= 0n
        : Number.isSafeInteger(quantity) && quantity >= 0
    if (unit !== this.#price.unit || !isNatural) {
      throw new RangeError(`no usage in ${this.#price.unit}: ${quantity} ${unit}`)
    }
    const total = this.#quantity + BigInt(quantity)
    const isCovered = total <= this.#covered
    this.#quantity = isCovered ? total : this.#covered
    if (isCovered || this.#isExhausted) return isCovered
    this.#isExhausted = true
    this.#onExhausted()
    return false
  }
}
