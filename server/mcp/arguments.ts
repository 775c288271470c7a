import type { JsonObject } from '../../core/json.ts'
import type { Check, Issue } from '../../core/plugin/validate.ts'
import { readDollars } from './dollars.ts'

/** Arguments are what a model wrote: read with patience, and judged with reasons. */

/** Amounts in dollars may come as numbers, since that is how models like to write them. */
export function readArguments(given: JsonObject): JsonObject {
  const args: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    if (value !== null)
      args[name] = isAmount(name) && typeof value === 'number' ? `${value}` : value
  }
  return args
}

/** What is wrong with arguments that were read. */
export function complaints(args: JsonObject, check: Check): readonly Issue[] {
  const issues = [...check(args)]
  for (const [name, value] of Object.entries(args)) {
    if (typeof value !== 'string') continue
    const path = `/${name}`
    if (value.includes('\0')) issues.push({ path, message: 'contains U+0000' })
    if (isAmount(name) && !isDollars(value)) {
      issues.push({ path, message: 'is no amount in dollars with at most 6 decimals, as "0.05"' })
    }
  }
  return issues
}

const isAmount = (name: string): boolean => name.endsWith('_usd')

function isDollars(text: string): boolean {
  try {
    readDollars(text)
    return true
  } catch {
    return false
  }
}
