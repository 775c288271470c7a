import type { JsonObject } from '../../core/json.ts'
import type { Check, Issue } from '../../core/plugin/validate.ts'
import { parseDollars } from './dollars.ts'

/** Drops nulls, and converts amounts to text: models often write both null and numbers. */
export function normalizeArguments(given: JsonObject): JsonObject {
  const args: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    if (value !== null)
      args[name] = isAmount(name) && typeof value === 'number' ? `${value}` : value
  }
  return args
}

export function findIssues(args: JsonObject, check: Check): readonly Issue[] {
  const issues = [...check(args)]
  for (const [name, value] of Object.entries(args)) {
    if (typeof value !== 'string') continue
    const path = `/${name}`
    if (value.includes('\0')) issues.push({ path, message: 'contains U+0000' })
    if (isAmount(name) && !isDollars(value)) {
      issues.push({
        path,
        message: 'must be an amount in dollars with at most 6 decimals, such as "0.05"',
      })
    }
  }
  return issues
}

const isAmount = (name: string): boolean => name.endsWith('_usd')

function isDollars(text: string): boolean {
  try {
    parseDollars(text)
    return true
  } catch {
    return false
  }
}
