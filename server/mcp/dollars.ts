import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { dollars, type Micros, usd } from '../../core/money.ts'

/** Converts a JSON amount in microdollars; returns any other value unchanged. */
const dollarsOf = (value: unknown): unknown =>
  Number.isSafeInteger(value) ? dollars(BigInt(value as number)) : value

const UNIT = /_microdollars$/

/** Converts every `…_microdollars` member, at any depth, to `…_usd`; null members are dropped. */
export function convertToDollars(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convertToDollars)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
      if (inner === null || inner === undefined) return []
      if (!UNIT.test(name)) return [[name, convertToDollars(inner)]]
      return [
        [name.replace(UNIT, '_usd'), isJsonObject(inner) ? amountsOf(inner) : dollarsOf(inner)],
      ]
    }),
  )
}

const amountsOf = (amounts: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, dollarsOf(amount)]))

/** Parses "0.05" or "$0.05". @throws TypeError unless dollars with at most six decimals */
export const parseDollars = (text: string): Micros => usd(text.trim().replace(/^\$/, ''))
