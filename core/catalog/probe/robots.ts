import robotsParser from 'robots-parser'
import type { Clock } from '../../clock.ts'
import type { Egress } from '../../egress/http.ts'

/** By which name hosts may speak to the hub in their robots.txt. */
const ROBOT = 'AgentHub'

const KEPT_MS = 24 * 3_600_000
const HOSTS_MAX = 5_000
const BYTES_MAX = 512 * 1_024 // RFC 9309 §2.5

/** A CommonJS module: what its types call its default is all of it. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default

type Rules = ReturnType<typeof parseRobots>

/** The robots.txt of hosts, each asked for once a day. */
export class Robots {
  readonly #egress: Egress
  readonly #clock: Clock
  readonly #known = new Map<string, { readonly rules: Rules; readonly until: number }>()

  constructor(egress: Egress, clock: Clock) {
    this.#egress = egress
    this.#clock = clock
  }

  /** Whether the hub may ask for `url`. A host without a robots.txt allows everything. */
  async allows(url: string): Promise<boolean> {
    const { origin } = new URL(url)
    const now = this.#clock.now().getTime()
    const known = this.#known.get(origin)
    const rules = known && known.until > now ? known.rules : await this.#read(origin)
    if (rules !== known?.rules) this.#keep(origin, { rules, until: now + KEPT_MS })
    return rules.isAllowed(url, ROBOT) ?? true
  }

  async #read(origin: string): Promise<Rules> {
    const url = `${origin}/robots.txt`
    const text = await this.#egress
      .request({ url, method: 'GET', maxBytes: BYTES_MAX, timeouts: { totalMs: 5_000 } })
      .then(({ status, body }) => (status === 200 ? body.toString('utf8') : ''))
      .catch(() => '') // what cannot be reached fails the probe itself
    return parseRobots(url, text)
  }

  #keep(origin: string, entry: { readonly rules: Rules; readonly until: number }): void {
    this.#known.delete(origin)
    this.#known.set(origin, entry)
    const [oldest] = this.#known.keys()
    if (this.#known.size > HOSTS_MAX && oldest !== undefined) this.#known.delete(oldest)
  }
}
