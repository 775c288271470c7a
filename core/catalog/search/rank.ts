import { createHash } from 'node:crypto'
import type { Wish } from './query.ts'
import type { Candidate, Places } from './store.ts'
import type { Part, Terms, Way } from './terms.ts'

/** A candidate with its rank's reasons. */
export interface Ranked {
  readonly candidate: Candidate
  readonly score: number
  /** In words: what of it matched, and what else put it here. */
  readonly why: readonly string[]
}

export interface Asked {
  readonly text: string
  readonly terms: Terms
  readonly wishes: ReadonlySet<Wish>
  /** What the hits are ranked for: freshness and turns go by days. */
  readonly day: Date
}

// BM25 with fields: a word in a name counts as three.
const FIELD: Readonly<Record<string, number>> = { A: 3, B: 2, C: 1, D: 0.8 }
const SATURATION = 1.2
const LENGTH = { share: 0.4, average: 40 } as const
const FIELD_NAMES: Readonly<Record<string, string>> = {
  A: 'name',
  B: 'tags',
  C: 'description',
  D: 'endpoints',
}

/** Words that follow each other, in the query and there, say more than words apart. */
const NEIGHBOURS = 0.15
/** Between two words of a phrase stands one at most, such as `to`. */
const GAP = 2
const SCATTERED = 0.6
/** A name that says nothing else. */
const WHOLE_NAME = 0.25
/** A document that has half of what was asked for is worth less than half. */
const COVERAGE = 0.5

const DAY_MS = 86_400_000
/** A listing is new for so many days, or until it has been called so often. */
const NEW_DAYS = 14
const NEW_CALLS = 20
/** One new listing a day and query is shown here, if none is above. */
const TURN = 4
const TURN_AMONG = 30
const TURN_SHARE = 0.5

interface Match {
  readonly score: number
  readonly ways: readonly Way[]
}

const NONE: Match = { score: 0, ways: [] }

/** Best first. The same candidates on the same day are always ranked in the same way. */
export function rank(candidates: readonly Candidate[], asked: Asked): Ranked[] {
  const ranked = candidates
    .map((candidate) => judge(candidate, asked))
    .filter(({ score }) => score > 0)
    .toSorted(
      (a, b) =>
        Number(b.candidate.exact) - Number(a.candidate.exact) ||
        b.score - a.score ||
        a.candidate.price - b.candidate.price ||
        (a.candidate.id < b.candidate.id ? -1 : 1),
    )
  return asked.terms.parts.length === 0 ? ranked : withTurn(ranked, asked)
}

function judge(candidate: Candidate, asked: Asked): Ranked {
  const { parts, idf } = asked.terms
  if (parts.length === 0) {
    const why = candidate.exact ? ['exact name'] : ['everything']
    return { candidate, score: suits(candidate, asked), why }
  }
  const matches = parts.map((part) => matchPart(part, candidate, idf))
  const text = matches.reduce((sum, { score }) => sum + score, 0) + together(parts, candidate, idf)
  const found = coverage(parts, matches, candidate, idf)
  const score = text * (1 - COVERAGE + COVERAGE * found) * nameShare(matches, candidate)
  const why = [...(candidate.exact ? ['exact name'] : []), ...reasons(matches, candidate)]
  const shown = candidate.exact ? Math.max(score, 1) : score
  return { candidate, score: shown * suits(candidate, asked), why: [...why, ...signals(candidate)] }
}

function matchPart(part: Part, candidate: Candidate, idf: Terms['idf']): Match {
  const words = part.words.map((ways) => bestOf(ways, candidate, idf))
  const sum = words.reduce((total, match) => total + match.score, 0)
  const asked = part.words.flatMap((ways) => ways.slice(0, 1).flatMap(({ terms }) => terms))
  const score = sum * inOrder(asked, candidate)
  const whole = bestOf(part.whole, candidate, idf)
  const best = whole.score > score ? whole : { score, ways: words.flatMap((match) => match.ways) }
  return { score: best.score * part.weight, ways: best.ways }
}

function bestOf(ways: readonly Way[], candidate: Candidate, idf: Terms['idf']): Match {
  let best = NONE
  for (const way of ways) {
    const scores = way.terms.map((term) => bm25(candidate.places.get(term), candidate, idf, term))
    if (scores.includes(0)) continue
    const sum = scores.reduce((total, each) => total + each, 0)
    const score = way.weight * sum * inOrder(way.terms, candidate)
    if (score > best.score) best = { score, ways: [way] }
  }
  return best
}

/** Words of a phrase that stand anywhere, or in another order, are only part of it. */
function inOrder(terms: readonly string[], { places }: Candidate): number {
  if (terms.length < 2) return 1
  const [first, ...rest] = terms.map((term) => places.get(term)?.positions ?? [])
  const ends = rest.reduce(
    (befores, positions) =>
      positions.filter((at) => befores.some((before) => at > before && at - before <= GAP)),
    first!,
  )
  return ends.length > 0 ? 1 : SCATTERED
}

function bm25(
  places: Places | undefined,
  { words }: Candidate,
  idf: Terms['idf'],
  term: string,
): number {
  if (!places) return 0
  let weight = 0
  for (const field of places.fields) weight += FIELD[field] ?? 0
  const length = 1 - LENGTH.share + (LENGTH.share * words) / LENGTH.average
  return ((idf.get(term) ?? 0) * weight * (1 + SATURATION)) / (weight + SATURATION * length)
}

/** How much of what was asked for, by how telling it is, is there: 0 to 1. */
function coverage(
  parts: readonly Part[],
  matches: readonly Match[],
  candidate: Candidate,
  idf: Terms['idf'],
): number {
  const mass = (ways: readonly Way[]) =>
    Math.max(0, ...ways.map(({ terms }) => terms.reduce((sum, t) => sum + (idf.get(t) ?? 0), 0)))
  let all = 0
  let found = 0
  parts.forEach((part, i) => {
    const ways = matches[i]!.ways
    const byWords = part.words.reduce((sum, each) => sum + mass(each), 0)
    const whole = byWords > 0 ? byWords : mass(part.whole)
    const isWhole = part.whole.some((way) => ways.includes(way))
    const there = part.words.reduce(
      (sum, each) => sum + (bestOf(each, candidate, idf).score > 0 ? mass(each) : 0),
      0,
    )
    all += part.weight * whole
    found += part.weight * (isWhole ? whole : there)
  })
  return all === 0 ? 1 : found / all
}

/** For each pair of neighbours in the query that are neighbours there. */
function together(parts: readonly Part[], { places }: Candidate, idf: Terms['idf']): number {
  const words = parts.flatMap((part) => part.words.map((ways) => ways[0]?.terms[0]))
  let bonus = 0
  for (let i = 1; i < words.length; i++) {
    const before = places.get(words[i - 1] ?? '')
    const here = places.get(words[i] ?? '')
    if (!before || !here) continue
    const adjacent = here.positions.some((at) => before.positions.includes(at - 1))
    if (adjacent) bonus += NEIGHBOURS * (idf.get(words[i - 1]!)! + idf.get(words[i]!)!)
  }
  return bonus
}

function nameShare(matches: readonly Match[], { places, nameTerms }: Candidate): number {
  const terms = new Set(matches.flatMap(({ ways }) => ways.flatMap((way) => way.terms)))
  const named = [...terms].filter((term) => places.get(term)?.fields.includes('A')).length
  return 1 + (WHOLE_NAME * named) / Math.max(nameTerms, 1)
}

/** What it costs, how well it works and how lately that was seen: they decide among equals. */
function suits({ price, quality, latencyMs, verifiedAt }: Candidate, asked: Asked): number {
  const { wishes, day } = asked
  const cheap = (wishes.has('cheap') ? 0.5 : 0.04) / (1 + price / 2_000)
  const works = ((wishes.has('reliable') ? 0.5 : 0.1) * quality) / 20
  const fast = (wishes.has('fast') ? 0.5 : 0.02) / (1 + (latencyMs ?? 1_000) / 300)
  const seen = verifiedAt === null || day.getTime() - verifiedAt < 7 * DAY_MS
  return 1 + cheap + works + fast + (seen ? 0.02 : 0)
}

function reasons(matches: readonly Match[], { places }: Candidate): string[] {
  const byField = new Map<string, Set<string>>()
  for (const way of new Set(matches.flatMap(({ ways }) => ways))) {
    const fields = way.terms.map((term) => places.get(term)!.fields)
    const field = ['A', 'B', 'C', 'D'].find((each) => fields.some((f) => f.includes(each)))!
    const { asked, as } = way.meant ?? { asked: way.terms[0]!, as: way.terms[0]! }
    const said = asked === as ? `"${asked}"` : `"${asked}" as "${as}"`
    byField.set(field, (byField.get(field) ?? new Set()).add(said))
  }
  return [...byField]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([field, said]) => `${FIELD_NAMES[field]}: ${[...said].join(', ')}`)
}

function signals({ calls, delivered }: Candidate): string[] {
  return calls >= 10 ? [`${delivered} of ${calls} calls delivered`] : []
}

/**
 * Gives one new listing a turn among the first five, if it is nearly as relevant as those: another
 * one for each query and day, so that all get their share. Exact names stay where they are.
 */
function withTurn(ranked: readonly Ranked[], { text, day }: Asked): Ranked[] {
  const isNew = ({ candidate }: Ranked) =>
    candidate.calls < NEW_CALLS && day.getTime() - candidate.listedAt < NEW_DAYS * DAY_MS
  const bar = (ranked[TURN]?.score ?? 0) * TURN_SHARE
  const waiting = ranked.slice(TURN + 1, TURN_AMONG).filter((hit) => isNew(hit) && hit.score >= bar)
  if (waiting.length === 0 || ranked.slice(0, TURN + 1).some(isNew)) return [...ranked]
  if (ranked[TURN]!.candidate.exact) return [...ranked]
  const lot = ({ candidate }: Ranked) =>
    createHash('sha256').update(`${day.toISOString()} ${text} ${candidate.id}`).digest('hex')
  const drawn = waiting.toSorted((a, b) => (lot(a) < lot(b) ? -1 : 1))[0]!
  const others = ranked.filter((hit) => hit !== drawn)
  const turn = { ...drawn, why: [...drawn.why, 'new: its turn today'] }
  return [...others.slice(0, TURN), turn, ...others.slice(TURN)]
}
