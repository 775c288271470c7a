/** Announced end of a service or route (RFC 9745, RFC 8594). Days are UTC. */
export interface Deprecation {
  /** First day of the deprecation, such as `2027-01-01`. */
  readonly since: string
  /** Last guaranteed day, such as `2027-06-30`. Not before `since`. */
  readonly sunset?: string
  /** Path of the replacement. */
  readonly successor?: string
}

/** Response headers of a deprecation. Append `Link` to other links of the response. */
export function deprecationHeaders(
  deprecation: Deprecation | undefined,
): Readonly<Record<string, string>> {
  if (!deprecation) return {}
  const { since, sunset, successor } = deprecation
  const seconds = BigInt(new Date(`${since}T00:00:00Z`).getTime()) / 1_000n
  return {
    Deprecation: `@${seconds}`,
    ...(sunset && { Sunset: new Date(`${sunset}T23:59:59Z`).toUTCString() }),
    ...(successor && { Link: `<${successor}>; rel="successor-version"` }),
  }
}
