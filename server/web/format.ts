import { dollars, priceTag } from '../../core/money.ts'

/** A range of prices, or the one that there is. */
export const priceRange = (low: bigint, high: bigint): string =>
  low === high ? inDollars(low) : `${inDollars(low)} to ${inDollars(high)}`

export const count = (value: number | bigint): string => value.toLocaleString('en-US')

export const percent = (value: number): string =>
  `${value === 100 ? '100' : value.toFixed(value > 99 ? 2 : 1)} %`

export const milliseconds = (value: number): string =>
  value < 1_000 ? `${Math.round(value)} ms` : `${(value / 1_000).toFixed(1)} s`

/** `2026-11-21 12:03 UTC` */
export const instant = (at: Date): string =>
  `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** One and many, with the number. */
export const counted = (value: number | bigint, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 || value === 1n ? one : many}`

/** The same of an instant as JSON has it; a dash for none. */
export const instantText = (at: string | null): string =>
  at === null ? '–' : instant(new Date(at))

/** The UTC day of such an instant. */
export const day = (at: string): string => at.slice(0, 10)

/** Microdollars as people read them: `$1,234.50`. */
export const inDollars = (amount: bigint): string => grouped(priceTag(amount))

/** The same as JSON has them. */
export const money = (amount: number): string => inDollars(BigInt(amount))

/** A number with a comma at each thousand: `1234.5000` is `1,234.5000`. */
export const grouped = (text: string): string =>
  text.replace(/\d+/, (whole) => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','))

/**
 * Writes the amounts of a column, all with as many decimals as the longest of them has, so that
 * their points stand below each other.
 */
export function alike(amounts: readonly bigint[]): (amount: bigint) => string {
  const decimals = Math.max(2, ...amounts.map((amount) => decimalsOf(dollars(amount))))
  return (amount) => {
    const text = inDollars(amount)
    return text.padEnd(text.length + decimals - decimalsOf(text), '0')
  }
}

const decimalsOf = (text: string): number => text.length - 1 - text.indexOf('.')

/** The same for a column of a table, of microdollars as JSON has them. */
export function aligned<Row>(rows: readonly Row[], of: (row: Row) => number): (row: Row) => string {
  const write = alike(rows.map((row) => BigInt(of(row))))
  return (row) => write(BigInt(of(row)))
}

/** The next figure above that reads well on an axis, as does its half: 2, 4, 6, 8, 10, 20, … */
export function roundAbove(value: bigint): bigint {
  const unit = 10n ** BigInt(String(value).length - 1)
  const found = [1n, 2n, 4n, 6n, 8n].find((each) => each * unit >= value && each * unit > 1n)
  return (found ?? 10n) * unit
}
