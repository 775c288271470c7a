import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { Micros } from '../../core/money.ts'
import { dollars, usd } from '../../core/money.ts'

export { dollars } from '../../core/money.ts'

/** The same of an amount in JSON, which is a whole number of microdollars. */
const dollarsOf = (value: unknown): unknown =>
  Number.isSafeInteger(value) ? dollars(BigInt(value as number)) : value

const UNIT = /_microdollars$/

/** Every `…_microdollars` of a value, however deep, as `…_usd`; null and empty are left out. */
export function inDollars(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inDollars)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
      if (inner === null || inner === undefined) return []
      if (!UNIT.test(name)) return [[name, inDollars(inner)]]
      return [
        [name.replace(UNIT, '_usd'), isJsonObject(inner) ? amountsOf(inner) : dollarsOf(inner)],
      ]
    }),
  )
}

const amountsOf = (amounts: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, dollarsOf(amount)]))

/**
 * Reads an amount that a model wrote: "0.05", "$0.05", or what came out of a number.
 * @throws TypeError for anything but dollars with at most six decimals
 */
export const readDollars = (text: string): Micros => usd(text.trim().replace(/^\$/, ''))
