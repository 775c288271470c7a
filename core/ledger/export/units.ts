import type { ExportPlan } from './plan.ts'

const DECIMALS: Readonly<Record<string, number>> = { USDC: 6, GWEI: 0, FREECALL: 0, ALLOWANCE: 6 }
export const ASSETS = Object.keys(DECIMALS)
/** Symbol of gas in accounting formats: one gwei is 0.000000001 ETH. */
const ETH = 'ETH'
export const decimalsOf = (asset: string): number => (asset === ETH ? 9 : DECIMALS[asset]!)

/** Assets that are permissions, not money. */
const PERMISSIONS: ReadonlySet<string> = new Set(['FREECALL', 'ALLOWANCE'])

/** Returns the symbol of an asset in accounting formats; undefined if they leave it out. */
export const accountingSymbol = (asset: string, allAssets = false): string | undefined =>
  asset === 'GWEI' ? ETH : PERMISSIONS.has(asset) && !allAssets ? undefined : asset

/** Symbols that an export in an accounting format may contain. */
export const symbolsOf = ({ allAssets }: Pick<ExportPlan, 'allAssets'>): readonly string[] =>
  ASSETS.flatMap((asset) => accountingSymbol(asset, allAssets) ?? [])

/** Formats an amount with all decimals of its asset: `formatUnits(-5n, 6)` is `-0.000005`. */
export function formatUnits(amount: bigint, decimals: number): string {
  const sign = amount < 0n ? '-' : ''
  const digits = String(amount < 0n ? -amount : amount).padStart(decimals + 1, '0')
  const point = digits.length - decimals
  return decimals === 0 ? sign + digits : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}

/** Formats an amount with its asset in accounting convention: debits are positive. */
export const debitPositive = (amount: bigint, asset: string): string =>
  `${formatUnits(-amount, decimalsOf(asset))} ${asset}`

export const dayOf = (instant: string): string => instant.slice(0, 10)

/** Returns the following day: `2026-12-31` → `2027-01-01`. */
export function nextDay(day: string): string {
  const date = new Date(`${day}T00:00:00Z`)
  date.setUTCDate(date.getUTCDate() + 1)
  return date.toISOString().slice(0, 10)
}
