/** That something will end, and what comes after it (RFC 9745, RFC 8594). Days are UTC. */
export interface Deprecation {
  /** `2027-01-01`: from then on it should not be used any more. */
  readonly since: string
  /** `2027-06-30`: after this day it may be gone. Not before `since`. */
  readonly sunset?: string
  /** Path of what takes its place. */
  readonly successor?: string
}

/** As headers. `Link` is a list: it stands beside other links. */
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
