import { priceTag } from '../../core/money.ts'

/** A range of prices, or the one that there is. */
export const priceRange = (low: bigint, high: bigint): string =>
  low === high ? priceTag(low) : `${priceTag(low)} to ${priceTag(high)}`

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

/** Microdollars as JSON has them, as people read them. */
export const money = (amount: number): string => priceTag(BigInt(amount))
