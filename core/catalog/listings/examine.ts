import type { Pool } from 'pg'
import type { Egress } from '../../egress/http.ts'
import { decimal } from '../../money.ts'
import { canonicalUrl, type UrlRules } from './discovery/canonical.ts'
import { candidateOf } from './discovery/normalise.ts'
import type { JudgedOffer } from './discovery/offers.ts'
import type { Target } from './discovery/origin.ts'
import { type Probed, probe } from './probe/ask.ts'
import type { Robots } from './probe/robots.ts'
import { REASONS, type Reason } from './reasons.ts'
import type { Candidate, ListingMethod } from './store.ts'

export interface ExaminePorts {
  readonly pool: Pool
  readonly egress: Egress
  readonly robots: Robots
  readonly rules: UrlRules
}

/** One thing that was looked at, as a linter tells it. */
export interface Line {
  readonly check: string
  readonly level: 'ok' | 'warning' | 'error'
  readonly message: string
}

/** What would become of a URL, and why. */
export interface Examination {
  readonly url: string
  readonly method: ListingMethod | undefined
  readonly lines: readonly Line[]
  /** Set when it would not be listed. */
  readonly reason: Reason | undefined
  /** Set when it would. */
  readonly candidate: Candidate | undefined
  readonly probed: Probed | undefined
}

/** Answers that mean: try it with a body. */
const ASK_AGAIN: readonly string[] = ['wrong_method', 'not_found', 'refuses', 'not_asked']

/**
 * Looks at a URL as a listing of it would be looked at: its form, its owner's wishes, and one
 * unpaid request, two when nobody said by which method. Nothing is written, nothing is paid.
 */
export async function examine(ports: ExaminePorts, target: Target): Promise<Examination> {
  const none = { method: target.method, candidate: undefined, probed: undefined }
  const canonical = canonicalUrl(target.url, ports.rules)
  if (typeof canonical === 'string') {
    return { ...none, url: target.url, reason: canonical, lines: [errorOf('url', canonical)] }
  }
  const { url } = canonical
  const lines: Line[] = [{ check: 'url', level: 'ok', message: `Listed as ${url}` }]
  const refused = (check: string, reason: Reason): Examination => {
    return { ...none, url, reason, lines: [...lines, errorOf(check, reason)] }
  }
  if (await hasOptedOut(ports.pool, url)) return refused('owner', 'opted_out')
  const refusal = await ports.robots.refusal(url)
  if (refusal !== undefined) return refused('robots', refusal)
  lines.push({ check: 'robots', level: 'ok', message: 'Nothing asks the hub to stay away.' })
  const { method, probed } = await probeEither(ports.egress, url, target.method)
  lines.push(...linesOf(probed))
  if (probed.outcome !== 'up' || !probed.offers) {
    const reason = probed.outcome === 'up' ? 'malformed_offer' : probed.outcome
    return { ...none, url, method, probed, reason, lines }
  }
  const described = merged(target.described, probed.described ?? {})
  const candidate = candidateOf(url, method, probed.offers, described)
  lines.push(...textLines(candidate))
  return { url, method, lines, reason: undefined, candidate, probed }
}

async function probeEither(egress: Egress, url: string, said: ListingMethod | undefined) {
  const method = said ?? 'GET'
  const probed = await probe(egress, { method, url })
  if (said !== undefined || !ASK_AGAIN.includes(probed.outcome)) return { method, probed }
  const posted = await probe(egress, { method: 'POST', url })
  return posted.outcome === 'up' ? { method: 'POST' as const, probed: posted } : { method, probed }
}

async function hasOptedOut(pool: Pool, url: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    'SELECT FROM hub.listing_owner WHERE host = $1 AND opted_out_at IS NOT NULL',
    [new URL(url).hostname],
  )
  return rowCount !== 0
}

/** The documents of an origin say more than its offers do; what they leave out, an offer says. */
function merged(first: Target['described'], second: Target['described']): Target['described'] {
  const said = Object.entries(first).filter(([, value]) => value !== undefined && value !== null)
  return { ...second, ...Object.fromEntries(said) }
}

const errorOf = (check: string, reason: Reason): Line => ({
  check,
  level: 'error',
  message: REASONS[reason],
})

function linesOf(probed: Probed): Line[] {
  const { outcome, status, latencyMs, entries = [], version, notPayable } = probed
  const answered = status === undefined ? 'No answer' : `Answered ${status}`
  const isAnswer: Line = {
    check: 'answer',
    level: status === 402 ? 'ok' : 'error',
    message: `${answered} after ${latencyMs} ms.`,
  }
  if (status !== 402) return [isAnswer, errorOf('answer', outcome === 'up' ? 'no_offer' : outcome)]
  const lines = [isAnswer]
  if (version !== undefined) {
    const message = `The offer is of version ${version} of x402.`
    lines.push({ check: 'offer', level: 'ok', message })
  }
  lines.push(...entries.map((entry, index) => entryLine(entry, index, outcome === 'up')))
  if (outcome !== 'up') lines.push(errorOf('offer', outcome))
  if (notPayable !== undefined) {
    const message = `POST /external would not pay it: ${notPayable}`
    lines.push({ check: 'payable', level: 'warning', message })
  }
  return lines
}

/** A bad entry beside a good one does no harm. */
function entryLine(entry: JudgedOffer, index: number, isUp: boolean): Line {
  const check = `accepts/${index}`
  if (typeof entry === 'string') {
    return { check, level: isUp ? 'warning' : 'error', message: REASONS[entry] }
  }
  const { price, network, payTo } = entry
  const message = `${decimal(price)} USD on ${network} to ${payTo}`
  return { check, level: 'ok', message }
}

function textLines({ named, name, description, inputSchema, outputSchema, category }: Candidate) {
  const lines: Line[] = []
  const warn = (check: string, message: string): void => {
    lines.push({ check, level: 'warning', message })
  }
  if (!named) warn('name', `No name is given; it would be listed as "${name}".`)
  if (description === '') warn('description', 'No description: hardly anybody will find it.')
  if (inputSchema === null) warn('input', 'No input schema: agents have to guess what to send.')
  if (outputSchema === null) warn('output', 'No output schema or example.')
  lines.push({ check: 'category', level: 'ok', message: `Filed under ${category}.` })
  return lines
}
