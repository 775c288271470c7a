import robotsParser from 'robots-parser'
import type { Clock } from '../../../clock.ts'
import { EgressError } from '../../../egress/errors.ts'
import type { Egress, EgressResponse } from '../../../egress/http.ts'
import type { Reason } from '../reasons.ts'
import { judgeFailure } from './judge.ts'

/** By which name hosts may speak to the hub in their robots.txt. */
const ROBOT = 'AgentHub'

const KEPT_MS = 24 * 3_600_000 // RFC 9309 §2.4
/** A host whose robots.txt could not be had is asked for it again after it. */
const AGAIN_MS = 10 * 60_000
const HOSTS_MAX = 5_000
const BYTES_MAX = 512 * 1_024 // RFC 9309 §2.5
const REDIRECTS_MAX = 5 // RFC 9309 §2.3.1.2

/** A CommonJS module: what its types call its default is all of it. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default

/** What a host says; or why nobody knows what. */
type Said = ReturnType<typeof parseRobots> | { readonly silent: Reason }

/** The robots.txt of hosts, each asked for once a day. */
export class Robots {
  readonly #egress: Pick<Egress, 'request'>
  readonly #clock: Clock
  readonly #known = new Map<string, { readonly said: Said; readonly until: number }>()

  constructor(egress: Pick<Egress, 'request'>, clock: Clock) {
    this.#egress = egress
    this.#clock = clock
  }

  /** Whether the hub may ask for `url`. */
  async allows(url: string): Promise<boolean> {
    return (await this.refusal(url)) === undefined
  }

  /**
   * Why the hub may not ask for `url`: `robots`, or why the robots.txt cannot be had. A host
   * without one (4xx) allows everything. One that fails to tell allows nothing (RFC 9309 §2.3.1.4),
   * unless it has told before: then that counts until it tells again.
   */
  async refusal(url: string): Promise<Reason | undefined> {
    const { origin } = new URL(url)
    const now = this.#clock.now().getTime()
    const known = this.#known.get(origin)
    if (known && known.until > now) return refusalOf(known.said, url)
    const told = await this.#read(origin)
    const isSilent = 'silent' in told
    const said = isSilent && known ? known.said : told
    this.#keep(origin, { said, until: now + (isSilent ? AGAIN_MS : KEPT_MS) })
    return refusalOf(said, url)
  }

  async #read(origin: string): Promise<Said> {
    const robots = `${origin}/robots.txt`
    let url = robots
    for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
      const answer = await this.#ask(url)
      if ('silent' in answer) return url === robots ? answer : { silent: 'robots_unreadable' }
      const { status, headers, body } = answer
      const target = locationOf(headers, url)
      if (status >= 300 && status < 400 && target !== undefined) url = target
      else if (status >= 500) return { silent: 'robots_unreadable' }
      else return parseRobots(robots, status === 200 ? body.toString('utf8') : '')
    }
    return parseRobots(robots, '') // as if there were none
  }

  async #ask(url: string): Promise<EgressResponse | { readonly silent: Reason }> {
    const timeouts = { totalMs: 5_000 }
    try {
      const asked = { url, method: 'GET', maxBytes: BYTES_MAX, streams: true, timeouts }
      const answer = await this.#egress.request(asked)
      answer.stream?.destroy() // the beginning of a long one counts
      return answer
    } catch (error) {
      if (!(error instanceof EgressError)) throw error
      const isAnswer = error.code === 'upstream_redirect' || error.code === 'upstream_too_large'
      if (isAnswer && error.response) return error.response // its status says enough
      return { silent: judgeFailure(error).outcome as Reason } // no answer is never up
    }
  }

  #keep(origin: string, entry: { readonly said: Said; readonly until: number }): void {
    this.#known.delete(origin)
    this.#known.set(origin, entry)
    const [oldest] = this.#known.keys()
    if (this.#known.size > HOSTS_MAX && oldest !== undefined) this.#known.delete(oldest)
  }
}

function refusalOf(said: Said, url: string): Reason | undefined {
  if ('silent' in said) return said.silent
  return said.isAllowed(url, ROBOT) === false ? 'robots' : undefined
}

const locationOf = ({ location }: EgressResponse['headers'], base: string): string | undefined =>
  typeof location === 'string' ? URL.parse(location, base)?.href : undefined
