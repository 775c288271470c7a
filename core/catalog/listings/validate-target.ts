import type { Pool } from 'pg'
import type { Egress } from '../../egress/http.ts'
import type { TargetRules } from '../../egress/target.ts'
import { decimal } from '../../money.ts'
import { imitatesPlatform } from '../review/impersonation.ts'
import { canonicalUrl } from './discovery/canonical-url.ts'
import { listingCandidate, type ResourceDescription } from './discovery/normalize.ts'
import type { OfferCheck } from './discovery/offers.ts'
import type { ListingTarget } from './discovery/read-origin.ts'
import type { Robots } from './probe/robots.ts'
import { type ProbeResult, sendProbe } from './probe/send-probe.ts'
import { REASONS, type Reason } from './reasons.ts'
import type { ListingCandidate, ListingMethod } from './store.ts'

export interface ListingDeps {
  readonly pool: Pool
  readonly egress: Egress
  readonly robots: Robots
  readonly rules: TargetRules
  /** True if the hub pays metered prices. @defaultValue false */
  readonly buysMetered?: boolean
}

/** Result of one check, in the style of a linter. */
export interface ValidationLine {
  readonly check: string
  readonly level: 'ok' | 'warning' | 'error'
  readonly message: string
}

/** Preview of the listing of a URL. */
export interface TargetValidation {
  readonly url: string
  readonly method: ListingMethod | undefined
  readonly lines: readonly ValidationLine[]
  /** Set if it would not be listed. */
  readonly reason: Reason | undefined
  /** Set if it would be listed. */
  readonly candidate: ListingCandidate | undefined
  readonly probeResult: ProbeResult | undefined
}

/** Outcomes of a GET after which POST is tried. */
const POST_RETRY_OUTCOMES: readonly string[] = ['wrong_method', 'not_found', 'refuses', 'not_asked']

/** Validates a URL as a listing with one or two unpaid requests. Nothing is written or paid. */
export async function validateTarget(
  deps: ListingDeps,
  target: ListingTarget,
): Promise<TargetValidation> {
  const none = { method: target.method, candidate: undefined, probeResult: undefined }
  const canonical = canonicalUrl(target.url, deps.rules)
  if (typeof canonical === 'string') {
    return { ...none, url: target.url, reason: canonical, lines: [errorLine('url', canonical)] }
  }
  const { url } = canonical
  const lines: ValidationLine[] = [{ check: 'url', level: 'ok', message: `Listed as ${url}` }]
  const refused = (check: string, reason: Reason): TargetValidation => {
    return { ...none, url, reason, lines: [...lines, errorLine(check, reason)] }
  }
  if (await hasOptedOut(deps.pool, url)) return refused('owner', 'opted_out')
  const refusal = await deps.robots.refusal(url, { again: true })
  if (refusal !== undefined) return refused('robots', refusal)
  lines.push({ check: 'robots', level: 'ok', message: 'robots.txt allows the hub.' })
  const { method, probeResult } = await probeEither(deps, url, target.method)
  lines.push(...probeLines(probeResult))
  if (probeResult.outcome !== 'up' || !probeResult.offers) {
    const reason = probeResult.outcome === 'up' ? 'malformed_offer' : probeResult.outcome
    return { ...none, url, method, probeResult, reason, lines }
  }
  const description = mergeDescriptions(target.description, probeResult.description ?? {})
  const candidate = listingCandidate(url, method, probeResult.offers, description)
  if (imitatesPlatform(candidate.name, candidate.description)) return refused('text', 'imitation')
  lines.push(...textLines(candidate))
  return { url, method, lines, reason: undefined, candidate, probeResult }
}

async function probeEither(
  { egress, buysMetered }: Pick<ListingDeps, 'egress' | 'buysMetered'>,
  url: string,
  named: ListingMethod | undefined,
) {
  const method = named ?? 'GET'
  const probeResult = await sendProbe(egress, { method, url }, buysMetered)
  const first = { method, probeResult }
  if (named !== undefined || !POST_RETRY_OUTCOMES.includes(probeResult.outcome)) return first
  const posted = await sendProbe(egress, { method: 'POST', url }, buysMetered)
  return posted.outcome === 'up' ? { method: 'POST' as const, probeResult: posted } : first
}

async function hasOptedOut(pool: Pool, url: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    'SELECT FROM hub.listing_owner WHERE host = $1 AND opted_out_at IS NOT NULL',
    [new URL(url).hostname],
  )
  return rowCount !== 0
}

/** Merges descriptions: the documents of an origin first, completed by its offer. */
function mergeDescriptions(first: ResourceDescription, second: ResourceDescription) {
  const defined = Object.entries(first).filter(([, value]) => value !== undefined && value !== null)
  return { ...second, ...Object.fromEntries(defined) }
}

const errorLine = (check: string, reason: Reason): ValidationLine => ({
  check,
  level: 'error',
  message: REASONS[reason],
})

function probeLines(probeResult: ProbeResult): ValidationLine[] {
  const { outcome, status, latencyMs, entries = [], version, protocol, notPayable } = probeResult
  const answered = status === undefined ? 'No response' : `Status ${status}`
  const statusLine: ValidationLine = {
    check: 'answer',
    level: status === 402 ? 'ok' : 'error',
    message: `${answered} after ${latencyMs} ms.`,
  }
  if (status !== 402)
    return [statusLine, errorLine('answer', outcome === 'up' ? 'no_offer' : outcome)]
  const lines = [statusLine]
  if (version !== undefined || protocol) {
    const message = protocol ? 'MPP (scheme Payment, method evm).' : `x402 version ${version}.`
    lines.push({ check: 'offer', level: 'ok', message })
  }
  lines.push(...entries.map((entry, index) => entryLine(entry, index, outcome === 'up')))
  if (outcome !== 'up') lines.push(errorLine('offer', outcome))
  if (notPayable !== undefined) {
    const message = `POST /external cannot pay it: ${notPayable}`
    lines.push({ check: 'payable', level: 'warning', message })
  }
  return lines
}

/** An invalid entry is only a warning if another one is valid. */
function entryLine(entry: OfferCheck, index: number, isUp: boolean): ValidationLine {
  const check = `accepts/${index}`
  if (typeof entry === 'string') {
    return { check, level: isUp ? 'warning' : 'error', message: REASONS[entry] }
  }
  const { price, network, payTo } = entry
  const message = `${decimal(price)} USD on ${network} to ${payTo}`
  return { check, level: 'ok', message }
}

function textLines(candidate: ListingCandidate): ValidationLine[] {
  const { named, name, description, inputSchema, outputSchema, category } = candidate
  const lines: ValidationLine[] = []
  const warn = (check: string, message: string): void => {
    lines.push({ check, level: 'warning', message })
  }
  if (!named) warn('name', `No name. It would be listed as "${name}".`)
  if (description === '') warn('description', 'No description. Search will rarely find it.')
  if (inputSchema === null) warn('input', 'No input schema. Agents must guess what to send.')
  if (outputSchema === null) warn('output', 'No output schema or example.')
  lines.push({ check: 'category', level: 'ok', message: `Category: ${category}.` })
  return lines
}
