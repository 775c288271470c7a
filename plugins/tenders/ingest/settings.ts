/** Settings of requests to the official journal. Times in milliseconds. */
export interface Settings {
  /** Origin of the search API. */
  readonly api: string
  /** Origin of notices and packages. */
  readonly site: string
  /** Interval between requests: one per second is far below every published limit. */
  readonly paceMs: number
  /** Maximum retries of a failed request. */
  readonly retries: number
  /** Delay before the first retry; doubled each time, up to a minute, with jitter. */
  readonly backoffMs: number
  /** Longest `Retry-After` to wait for; a longer one ends the run until then. */
  readonly retryAfterMaxMs: number
  /** Pause after being blocked without `Retry-After`. */
  readonly quietMs: number
  /** Notices per page; the API's maximum is 250. */
  readonly pageSize: number
  /** Maximum restarts of a contradictory listing in one run. */
  readonly restarts: number
  /** Number of missing notices from which the daily package is fetched. */
  readonly packageFrom: number
  /** Intervals between checks of a notice that is being rendered; the last one repeats. */
  readonly pollMs: readonly number[]
  /** Time limit of rendering. Observed: 7 to 310 s. */
  readonly renderMs: number
  /** Maximum notices rendered at once; a rendered one is available for two minutes. */
  readonly rendering: number
  /** Time after which another worker takes over a claim. */
  readonly claimMs: number
  readonly limits: Limits
}

export interface Limits {
  /** Bytes of a search response; 250 notices with all links are 3 MB. */
  readonly page: number
  /** Bytes of one document. The largest one observed has 9 MB. */
  readonly document: number
  /** Bytes of an unpacked package; a usual day has 210 MB. */
  readonly unpacked: number
  /** Files in a package; a usual day has 3,200. */
  readonly members: number
  /** Notices announced for one day. */
  readonly announced: number
  /** Predecessors fetched per run, and their maximum distance from a notice. */
  readonly predecessors: number
  readonly depth: number
}

const MIB = 1_048_576

export const SETTINGS: Settings = {
  api: 'https://api.ted.europa.eu',
  site: 'https://ted.europa.eu',
  paceMs: 1_000,
  retries: 5,
  backoffMs: 2_000,
  retryAfterMaxMs: 120_000,
  quietMs: 3_600_000,
  pageSize: 250,
  restarts: 3,
  packageFrom: 20,
  pollMs: [8_000, 12_000, 20_000, 30_000, 45_000],
  renderMs: 600_000,
  rendering: 20,
  claimMs: 120_000,
  limits: {
    page: 16 * MIB,
    document: 16 * MIB,
    unpacked: 1_024 * MIB,
    members: 20_000,
    announced: 20_000,
    predecessors: 500,
    depth: 10,
  },
}
