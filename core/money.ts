import { singular } from './singular.ts'

/** Integer amount of microdollars (1 USD = 1,000,000). Floats are never used for money. */
export type Micros = bigint & { readonly unit: 'microdollars' }

const MICROS_PER_USD = 1_000_000n
const BPS_PER_WHOLE = 10_000n

/** Brands an integer as microdollars. */
export const micros = (amount: bigint | number): Micros => BigInt(amount) as Micros

/**
 * Parses a decimal dollar amount exactly: `usd('0.0030')` is 3000 microdollars.
 * @throws TypeError unless the text is digits with at most six decimals
 */
export function usd(text: string): Micros {
  const match = /^(\d{1,12})(?:\.(\d{1,6}))?$/.exec(text)
  if (!match) throw new TypeError(`not a dollar amount with at most 6 decimals: ${text}`)
  const [, whole = '0', fraction = ''] = match
  return micros(BigInt(whole) * MICROS_PER_USD + BigInt(fraction.padEnd(6, '0')))
}

/** Formats microdollars as dollars with six decimals: `decimal(3000n)` is `0.003000`. */
export function decimal(amount: bigint): string {
  const sign = amount < 0n ? '-' : ''
  const absolute = amount < 0n ? -amount : amount
  const fraction = String(absolute % MICROS_PER_USD).padStart(6, '0')
  return `${sign}${absolute / MICROS_PER_USD}.${fraction}`
}

/** Formats microdollars as dollars with two to six decimals: `dollars(3000n)` is `0.003`. */
export const dollars = (amount: bigint): string => decimal(amount).replace(/0{1,4}$/, '')

/** Formats microdollars for people: `$0.003`. */
export const priceTag = (amount: bigint): string => dollars(amount).replace(/^-?/, '$&$$')

/**
 * Names a number of units of a metered price: `1 word`, `1,000 tokens`.
 * @param unit in the plural
 */
export function unitCount(count: bigint | number, unit: string): string {
  const isOne = count === 1 || count === 1n
  return `${count.toLocaleString('en-US')} ${isOne ? singular(unit) : unit}`
}

/** Splits a charge: the commission is rounded down and the provider gets the remainder. */
export function split(charged: bigint, commissionBps: number) {
  const commission = micros((charged * BigInt(commissionBps)) / BPS_PER_WHOLE)
  return { commission, share: micros(charged - commission) } as const
}

/** Converts an amount to a JSON integer. @throws RangeError above 2^53 - 1 */
export function json(amount: bigint): number {
  const value = Number(amount)
  if (!Number.isSafeInteger(value)) throw new RangeError(`not a safe JSON integer: ${amount}`)
  return value
}

/** Minimum purchase of credits at every entry point. */
export const MIN_TOP_UP = usd('5')
