import type { JsonObject } from '../json.ts'

/** Serializes a value with sorted members (RFC 8785). Returns an empty string for undefined. */
export const canonicalJson = (value: unknown): string => JSON.stringify(sortKeys(value)) ?? ''

function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sortKeys)
  const object = value as JsonObject
  // Names are sorted alone, which is much faster than members with a comparison function.
  const names = Object.keys(object).sort() // by UTF-16 code units
  return Object.fromEntries(names.map((name) => [name, sortKeys(object[name])]))
}
