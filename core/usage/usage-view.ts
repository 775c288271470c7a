import { json } from '../money.ts'
import { coveredUnits, type MeteredPrice, type Usage } from '../plugin/metered.ts'

/** Usage as receipts and the API show it: units at `price_microdollars` for `per` units. */
export interface UsageView {
  readonly unit: string
  readonly quantity: number
  readonly price_microdollars: number
  readonly per: number
}

export const showUsage = ({ unit, quantity, amount, per }: Usage): UsageView => ({
  unit,
  quantity: json(quantity),
  price_microdollars: json(amount),
  per: json(per),
})

/** Metered price as the API shows it: `quantity` units cost the maximum. */
export const showMetered = (
  { unit, of: { amount, per } }: Omit<MeteredPrice, 'max'>,
  max: bigint,
): UsageView => ({
  unit,
  quantity: json(coveredUnits(max, { amount, per })),
  price_microdollars: json(amount),
  per: json(per),
})
