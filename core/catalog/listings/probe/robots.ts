import { LRUCache } from 'lru-cache'
import robotsParser from 'robots-parser'
import type { Clock } from '../../../clock.ts'
import { EgressError } from '../../../egress/errors.ts'
import type { Egress, EgressResponse } from '../../../egress/http.ts'
import type { Reason } from '../reasons.ts'
import { classifyFailure } from './classify-response.ts'

/** Name by which a robots.txt addresses the hub. */
const USER_AGENT = 'AgentHub'

const TTL_MS = 24 * 3_600_000 // RFC 9309 §2.4
/** Wait after a robots.txt could not be fetched. */
const RETRY_MS = 10 * 60_000
const HOSTS_MAX = 5_000
const BYTES_MAX = 512 * 1_024 // RFC 9309 §2.5
const REDIRECTS_MAX = 5 // RFC 9309 §2.3.1.2

/** CommonJS module, whose types wrongly declare a default export. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default

/** Rules of an origin, or why they could not be fetched. */
type RobotsRules = ReturnType<typeof parseRobots> | { readonly unknown: Reason }

interface CachedRules {
  readonly rules: RobotsRules
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Checks URLs against the robots.txt of their origin, which is fetched once a day. */
export class Robots {
  readonly #egress: Pick<Egress, 'request'>
  readonly #clock: Clock
  readonly #cache = new LRUCache<string, CachedRules>({ max: HOSTS_MAX })

  constructor(egress: Pick<Egress, 'request'>, clock: Clock) {
    this.#egress = egress
    this.#clock = clock
  }

  /** Returns true if the hub may request `url`. */
  async allows(url: string): Promise<boolean> {
    return (await this.refusal(url)) === undefined
  }

  /**
   * Returns why the hub may not request `url`: `robots`, or why the robots.txt is unavailable. A
   * missing robots.txt (4xx) allows everything. If it cannot be fetched, the last known rules
   * apply; without any, nothing is allowed (RFC 9309 §2.3.1.4).
   */
  async refusal(url: string): Promise<Reason | undefined> {
    const { origin } = new URL(url)
    const now = this.#clock.now().getTime()
    const cached = this.#cache.get(origin)
    if (cached && cached.expiresAt > now) return refusalOf(cached.rules, url)
    const fetched = await this.#loadRules(origin)
    const isUnknown = 'unknown' in fetched
    const rules = isUnknown && cached ? cached.rules : fetched
    this.#cache.set(origin, { rules, expiresAt: now + (isUnknown ? RETRY_MS : TTL_MS) })
    return refusalOf(rules, url)
  }

  async #loadRules(origin: string): Promise<RobotsRules> {
    const robots = `${origin}/robots.txt`
    let url = robots
    for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
      const response = await this.#request(url)
      if ('unknown' in response) return url === robots ? response : { unknown: 'robots_unreadable' }
      const { status, headers, body } = response
      const target = redirectTarget(headers, url)
      if (status >= 300 && status < 400 && target !== undefined) url = target
      else if (status >= 500) return { unknown: 'robots_unreadable' }
      else return parseRobots(robots, status === 200 ? body.toString('utf8') : '')
    }
    return parseRobots(robots, '') // too many redirects count as a missing file
  }

  async #request(url: string): Promise<EgressResponse | { readonly unknown: Reason }> {
    const timeouts = { totalMs: 5_000 }
    try {
      const request = { url, method: 'GET', maxBytes: BYTES_MAX, streams: true, timeouts }
      const response = await this.#egress.request(request)
      response.stream?.destroy() // only the first bytes of a long file count
      return response
    } catch (error) {
      if (!(error instanceof EgressError)) throw error
      const hasStatus = error.code === 'upstream_redirect' || error.code === 'upstream_too_large'
      if (hasStatus && error.response) return error.response
      return { unknown: classifyFailure(error).outcome as Reason } // a failure is never `up`
    }
  }
}

function refusalOf(rules: RobotsRules, url: string): Reason | undefined {
  if ('unknown' in rules) return rules.unknown
  return rules.isAllowed(url, USER_AGENT) === false ? 'robots' : undefined
}

const redirectTarget = (
  { location }: EgressResponse['headers'],
  base: string,
): string | undefined =>
  typeof location === 'string' ? URL.parse(location, base)?.href : undefined
