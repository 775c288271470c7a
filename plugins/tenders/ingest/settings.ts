/** How the official journal is asked. Times are in ms. */
export interface Settings {
  /** Of the search API. */
  readonly api: string
  /** Of notices and packages. */
  readonly site: string
  /** Between the starts of two requests: 1 per second keeps far from every limit ever published. */
  readonly paceMs: number
  /** How often a request that failed is sent again. */
  readonly retries: number
  /** Before the first of them; doubled each time, up to a minute, with jitter. */
  readonly backoffMs: number
  /** The longest `Retry-After` that is waited for; a longer one ends the run until then. */
  readonly patienceMs: number
  /** Without `Retry-After`: how long we keep quiet after having been told to go away. */
  readonly quietMs: number
  /** Notices a page; the API takes 250. */
  readonly pageSize: number
  /** How often a listing that contradicts itself is begun again in one run. */
  readonly restarts: number
  /** So many notices of one day are worth the daily package. */
  readonly packageFrom: number
  /** Between two looks at a notice that is being rendered; the last one repeats. */
  readonly pollMs: readonly number[]
  /** How long rendering may take. Seen: 7 to 310 s. */
  readonly renderMs: number
  /** So many are rendered at once: what is ready goes in 2 minutes, and is to be seen in time. */
  readonly rendering: number
  /** How long another worker waits for one that went away. */
  readonly claimMs: number
  readonly limits: Limits
}

export interface Limits {
  /** Of an answer of the search API, in bytes: 250 notices with all their links are 3 MB. */
  readonly page: number
  /** Of one document, in bytes. The largest one seen has 9 MB. */
  readonly document: number
  /** Of a package, unpacked, in bytes: a usual day has 210 MB. */
  readonly unpacked: number
  /** Of the members of a package. A usual day has 3,200. */
  readonly members: number
  /** Of the notices that are announced for one day. */
  readonly announced: number
  /** Of the predecessors looked for at a time, and how far back from a notice. */
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
  patienceMs: 120_000,
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
