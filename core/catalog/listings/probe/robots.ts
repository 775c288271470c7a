import { LRUCache } from 'lru-cache'
import robotsParser from 'robots-parser'
import type { Clock } from '../../../clock.ts'
import { EgressError } from '../../../egress/errors.ts'
import type { Egress, EgressResponse } from '../../../egress/http.ts'
import type { Reason } from '../reasons.ts'
import { classifyFailure } from './classify-response.ts'
import { licensesIn } from './robots-licenses.ts'

/** Name by which a robots.txt addresses the hub. */
const USER_AGENT = 'AgentHub'

const TTL_MS = 24 * 3_600_000 // RFC 9309 §2.4
/** Wait after a robots.txt could not be fetched. */
const RETRY_MS = 10 * 60_000
const HOSTS_MAX = 5_000
const BYTES_MAX = 512 * 1_024 // RFC 9309 §2.5
/** Maximum size of all cached robots.txt files; parsed, they take several times as much. */
const CACHED_CHARACTERS_MAX = 16_777_216
const REDIRECTS_MAX = 5 // RFC 9309 §2.3.1.2

/** CommonJS module, whose types wrongly declare a default export. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default

/** Rules of an origin, or why they could not be fetched. */
type RobotsRules = ReturnType<typeof parseRobots> | { readonly unknown: Reason }

interface LoadedRules {
  readonly rules: RobotsRules
  /** URLs of the site's licenses. */
  readonly licenses: readonly string[]
  /** Length of the robots.txt. */
  readonly length: number
}

interface CachedRules extends LoadedRules {
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Checks URLs against the robots.txt of their origin, which is fetched once a day. */
export class Robots {
  readonly #egress: Pick<Egress, 'request'>
  readonly #clock: Clock
  readonly #cache = new LRUCache<string, CachedRules>({
    max: HOSTS_MAX,
    maxSize: CACHED_CHARACTERS_MAX,
    sizeCalculation: ({ length }) => length + 1,
  })

  constructor(egress: Pick<Egress, 'request'>, clock: Clock) {
    this.#egress = egress
    this.#clock = clock
  }

  /** Returns true if the hub may request `url`. */
  async allows(url: string): Promise<boolean> {
    return (await this.refusal(url)) === undefined
  }

  /** Returns true while a robots.txt that could not be fetched is not requested again. */
  isWaiting(url: string): boolean {
    const cached = this.#cache.get(new URL(url).origin)
    const isFresh = cached !== undefined && cached.expiresAt > this.#clock.now().getTime()
    return isFresh && 'unknown' in cached.rules
  }

  /**
   * Returns why the hub may not request `url`: `robots`, or why the robots.txt is unavailable. A
   * missing robots.txt (4xx) allows everything. If it cannot be fetched, the last known rules
   * apply; without any, nothing is allowed (RFC 9309 §2.3.1.4).
   * @param options.again true to request a robots.txt again that could not be fetched
   */
  async refusal(url: string, { again = false } = {}): Promise<Reason | undefined> {
    return refusalOf((await this.#find(url, again)).rules, url)
  }

  /** Returns the URLs of the licenses that the robots.txt names for the hub (RSL). */
  async licenses(url: string): Promise<readonly string[]> {
    return (await this.#find(url, false)).licenses
  }

  async #find(url: string, again: boolean): Promise<LoadedRules> {
    const { origin } = new URL(url)
    const now = this.#clock.now().getTime()
    const cached = this.#cache.get(origin)
    const isFresh = cached !== undefined && cached.expiresAt > now
    if (isFresh && !(again && 'unknown' in cached.rules)) return cached
    const fetched = await this.#loadRules(origin)
    const isUnknown = 'unknown' in fetched.rules
    const loaded = isUnknown && cached ? cached : fetched
    const expiresAt = now + (isUnknown ? RETRY_MS : TTL_MS)
    this.#cache.set(origin, { ...loaded, expiresAt })
    return loaded
  }

  async #loadRules(origin: string): Promise<LoadedRules> {
    const robots = `${origin}/robots.txt`
    let url = robots
    for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
      const response = await this.#request(url)
      if ('unknown' in response) return url === robots ? unknown(response.unknown) : UNREADABLE
      const { status, headers, body } = response
      const target = redirectTarget(headers, url)
      if (status >= 300 && status < 400 && target !== undefined) url = target
      else if (status >= 500) return UNREADABLE
      else return parse(robots, status === 200 ? body.toString('utf8') : '')
    }
    return parse(robots, '') // too many redirects count as a missing file
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

const unknown = (reason: Reason): LoadedRules => ({
  rules: { unknown: reason },
  licenses: [],
  length: 0,
})

const UNREADABLE = unknown('robots_unreadable')

const parse = (robots: string, text: string): LoadedRules => ({
  rules: parseRobots(robots, text),
  licenses: licensesIn(text, USER_AGENT.toLowerCase()),
  length: text.length,
})

function refusalOf(rules: RobotsRules, url: string): Reason | undefined {
  if ('unknown' in rules) return rules.unknown
  return rules.isAllowed(url, USER_AGENT) === false ? 'robots' : undefined
}

const redirectTarget = (
  { location }: EgressResponse['headers'],
  base: string,
): string | undefined =>
  typeof location === 'string' ? URL.parse(location, base)?.href : undefined
