/** The provider id of the house: what it sells is its own income, without commission. */
export const HOUSE = 'agenthub'

/**
 * The commission of a service in basis points: its own rule, else its provider's, else the
 * platform's default (specification §1.6). The house pays itself none.
 */
export function commissionBps(
  provider: string,
  rules: { readonly service: number | null; readonly provider: number | null },
  defaultBps: number,
): number {
  if (provider === HOUSE) return 0
  return rules.service ?? rules.provider ?? defaultBps
}
