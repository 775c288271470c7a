/**
 * JSON with the members of every object in one order (by UTF-16 code units, as RFC 8785 has it), so
 * that the same request has the same writing, whoever serialised it. Nothing for undefined.
 */
export const canonicalJson = (value: unknown): string => JSON.stringify(ordered(value)) ?? ''

function ordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(ordered)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  for (const member of members) member[1] = ordered(member[1])
  return Object.fromEntries(members)
}
