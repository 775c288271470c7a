import type { HeaderValues } from './egress/headers.ts'

const MAX_SECONDS = 7 * 24 * 3_600

/**
 * Parses `Retry-After` (RFC 9110 §10.2.3) as seconds from now, at most a week. A date is compared
 * with the `Date` of the same response, so that no local clock matters. Undefined if missing or
 * invalid.
 */
export function retryAfterSeconds(headers: HeaderValues): number | undefined {
  const value = String(headers['retry-after'])
  const seconds = /^\d+$/.test(value)
    ? Number(value)
    : (Date.parse(value) - Date.parse(String(headers['date']))) / 1_000
  return seconds >= 0 ? Math.min(seconds, MAX_SECONDS) : undefined
}
