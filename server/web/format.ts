import type { PublishedService } from '../../core/catalog/services/published-services.ts'
import { dayName, daysBefore } from '../../core/clock.ts'
import { dollars, priceTag, unitCount } from '../../core/money.ts'
import type { UsageView } from '../../core/usage/usage-view.ts'

/** `up to $0.05` for a price that is a maximum. */
export const priceLimit = (amount: bigint, isMaximum: boolean): string =>
  `${isMaximum ? 'up to ' : ''}${formatDollars(amount)}`

type PriceRange = Pick<PublishedService, 'minPrice' | 'maxPrice' | 'computed'>

/** `$0.001 to $0.05`, or one price if both are equal. */
export const priceRange = ({ minPrice: low, maxPrice: high, computed }: PriceRange): string =>
  low === high ? priceLimit(low, computed) : `${formatDollars(low)} to ${formatDollars(high)}`

export const formatCount = (value: number | bigint): string => value.toLocaleString('en-US')

/** `2 calls`, `1 call` */
export const pluralize = (value: number | bigint, one: string): string =>
  `${formatCount(value)} ${one}${value === 1 || value === 1n ? '' : 's'}`

/** @param value 0 to 100 */
export const formatPercent = (value: number): string =>
  `${value === 100 ? '100' : value.toFixed(value > 99 ? 2 : 1)} %`

/** @param value milliseconds */
export const formatDuration = (value: number): string =>
  value < 1_000 ? `${Math.round(value)} ms` : `${(value / 1_000).toFixed(1)} s`

/** `2026-11-21 12:03 UTC` of a date or an ISO 8601 timestamp; a dash for null. */
export const formatTime = (at: Date | string | null): string =>
  at === null ? '–' : `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** Like `formatTime`, with seconds: `2026-11-21 14:05:09 UTC`. */
export const formatSecond = (at: Date): string =>
  `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`

/** UTC day of an ISO 8601 timestamp: `2026-11-21`. */
export const dayOf = (at: string): string => at.slice(0, 10)

/** UTC days up to and including that of `last`, in order. */
export const lastDays = (last: Date, count: number): string[] =>
  Array.from({ length: count }, (_, i) => dayName(daysBefore(last, count - 1 - i)))

/** Formats microdollars: `$1,234.50`. */
export const formatDollars = (amount: bigint | number): string =>
  groupThousands(priceTag(BigInt(amount)))

/** `1,200 tokens, $0.002 for 1,000` */
export const usageText = ({ unit, quantity, price_microdollars: amount, per }: UsageView): string =>
  `${unitCount(quantity, unit)}, ${formatDollars(amount)} for ${formatCount(per)}`

/** `1234.5000` → `1,234.5000` */
export const groupThousands = (text: string): string =>
  text.replace(/\d+/, (whole) => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','))

/** Returns a formatter that aligns decimal points: all amounts get the most decimals of any. */
export function alignedFormatter<Amount extends bigint | number>(
  amounts: readonly Amount[],
): (amount: Amount) => string {
  const decimals = Math.max(2, ...amounts.map((amount) => decimalCount(dollars(BigInt(amount)))))
  return (amount) => {
    const text = formatDollars(amount)
    return text.padEnd(text.length + decimals - decimalCount(text), '0')
  }
}

const decimalCount = (text: string): number => text.length - 1 - text.indexOf('.')

/** Returns a cell function for a column of microdollars with aligned decimal points. */
export function alignedColumn<Row>(
  rows: readonly Row[],
  amountOf: (row: Row) => number,
): (row: Row) => string {
  const format = alignedFormatter(rows.map(amountOf))
  return (row) => format(amountOf(row))
}
