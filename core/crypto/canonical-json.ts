/** Serializes a value with sorted members (RFC 8785). Returns an empty string for undefined. */
export const canonicalJson = (value: unknown): string => JSON.stringify(sortKeys(value)) ?? ''

function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sortKeys)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  for (const member of members) member[1] = sortKeys(member[1])
  return Object.fromEntries(members)
}
