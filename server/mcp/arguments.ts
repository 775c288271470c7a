import { isJsonObject, type JsonObject, tryParseJson } from '../../core/json.ts'
import type { Check, Issue } from '../../core/plugin/validate.ts'
import { visibleText } from '../../core/text.ts'
import { parseDollars } from './dollars.ts'

/**
 * Drops nulls, converts amounts to text and the text of an object to that object, because models
 * often write them so, and removes invisible characters from search queries.
 */
export function normalizeArguments(given: JsonObject): JsonObject {
  const args: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    if (value === null) continue
    if (isAmount(name) && typeof value === 'number') args[name] = `${value}`
    else if (name === 'input' && typeof value === 'string') args[name] = parseObject(value)
    else args[name] = name === 'query' ? cleanQuery(value) : value
  }
  return args
}

export function findIssues(args: JsonObject, check: Check): readonly Issue[] {
  const issues = [...check(args)]
  for (const [name, value] of Object.entries(args)) {
    if (typeof value !== 'string') continue
    const path = `/${name}`
    if (value.includes('\0')) issues.push({ path, message: 'contains U+0000' })
    else if (!FORWARDED.has(name) && visibleText(value) !== value)
      issues.push({ path, message: 'contains invisible characters' })
    if (isAmount(name) && !isDollars(value)) {
      issues.push({
        path,
        message: 'must be an amount in dollars with at most 6 decimals, such as "0.05"',
      })
    }
  }
  return issues
}

/** Parses the object that some models send as text; returns other text unchanged. */
function parseObject(text: string): unknown {
  const value = tryParseJson(text)
  return isJsonObject(value) ? value : text
}

const cleanQuery = (value: unknown): unknown =>
  typeof value === 'string' && !value.includes('\0') ? visibleText(value) : value

/** Arguments that are sent to a service as they are: the caller's data. */
const FORWARDED: ReadonlySet<string> = new Set(['input', 'body', 'headers'])

const isAmount = (name: string): boolean => name.endsWith('_usd')

function isDollars(text: string): boolean {
  try {
    parseDollars(text)
    return true
  } catch {
    return false
  }
}
