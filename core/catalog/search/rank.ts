import { createHash } from 'node:crypto'
import { type Match, matcher } from './match.ts'
import type { Likeness } from './meaning/meaning.ts'
import type { Wish } from './query.ts'
import type { Candidate } from './store.ts'
import type { Terms, Way } from './terms.ts'

/** A candidate with what it is worth. */
export interface Scored extends Match {
  readonly candidate: Candidate
  /** Whether it is there because it is new. */
  readonly turn: boolean
  /** How like the query it is in its meaning, −1 to 1, where that is known. */
  readonly like?: number | undefined
}

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
  /** Left out where no engine of embeddings tells. */
  readonly like?: Likeness | undefined
}

const DAY_MS = 86_400_000
/** A listing is new for so many days, or until it has been called so often. */
const NEW_DAYS = 14
const NEW_CALLS = 20
/** One new listing a day and query is shown here, if none is above. */
const TURN = 4
const TURN_AMONG = 30
const TURN_SHARE = 0.5
/** What means the very same is worth twice what has the words alone. */
const LIKE = 1
const LIKE_TOLD = 0.3
/** Fewer calls say little. */
const CALLS_TOLD = 10

const FIELD_NAMES: Readonly<Record<string, string>> = {
  A: 'name',
  B: 'tags',
  C: 'description',
  D: 'endpoints',
}

/** Best first. The same candidates on the same day are always ranked in the same way. */
export function rank(candidates: readonly Candidate[], asked: Asked): Scored[] {
  const judge = judgeOf(asked)
  const ranked = candidates
    .map(judge)
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

function judgeOf(asked: Asked): (candidate: Candidate) => Scored {
  const match = matcher(asked.terms)
  if (asked.terms.parts.length === 0) {
    return (candidate) => ({ candidate, score: suits(candidate, asked), ways: [], turn: false })
  }
  return (candidate) => {
    const { score, ways } = match(candidate)
    const shown = candidate.exact ? Math.max(score, 1) : score
    const like = asked.like?.(candidate)
    const meant = 1 + LIKE * Math.max(like ?? 0, 0)
    return { candidate, score: shown * meant * suits(candidate, asked), ways, turn: false, like }
  }
}

/** Says of a hit why it is one, and why there. */
export function explain({ candidate, score, ways, turn, like = 0 }: Scored): Ranked {
  const { exact, calls, delivered } = candidate
  const why = [
    ...(exact ? ['exact name'] : []),
    ...reasons(ways, candidate),
    ...(like >= LIKE_TOLD ? [`meaning: ${Math.round(like * 100)} % alike`] : []),
    ...(calls >= CALLS_TOLD ? [`${delivered} of ${calls} calls delivered`] : []),
    ...(turn ? ['new: its turn today'] : []),
  ]
  return { candidate, score, why: why.length === 0 ? ['everything'] : why }
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

function reasons(ways: readonly Way[], { places }: Candidate): string[] {
  const byField = new Map<string, Set<string>>()
  for (const way of new Set(ways)) {
    const fields = way.terms.map((term) => places.get(term)!.fields)
    const field = ['A', 'B', 'C', 'D'].find((each) => fields.some((f) => f.includes(each)))!
    const { asked, as } = way.meant
    const said = asked === as ? `"${asked}"` : `"${asked}" as "${as}"`
    byField.set(field, (byField.get(field) ?? new Set()).add(said))
  }
  return [...byField]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([field, said]) => `${FIELD_NAMES[field]}: ${[...said].join(', ')}`)
}

/**
 * Gives one new listing a turn among the first five, if it is nearly as relevant as those: another
 * one for each query and day, so that all get their share. Exact names stay where they are.
 */
function withTurn(ranked: readonly Scored[], { text, day }: Asked): Scored[] {
  const isNew = ({ candidate }: Scored) =>
    candidate.calls < NEW_CALLS && day.getTime() - candidate.listedAt < NEW_DAYS * DAY_MS
  const bar = (ranked[TURN]?.score ?? 0) * TURN_SHARE
  const waiting = ranked.slice(TURN + 1, TURN_AMONG).filter((hit) => isNew(hit) && hit.score >= bar)
  if (waiting.length === 0 || ranked.slice(0, TURN + 1).some(isNew)) return [...ranked]
  if (ranked[TURN]!.candidate.exact) return [...ranked]
  const lot = ({ candidate }: Scored) =>
    createHash('sha256').update(`${day.toISOString()} ${text} ${candidate.id}`).digest('hex')
  const drawn = waiting.toSorted((a, b) => (lot(a) < lot(b) ? -1 : 1))[0]!
  const others = ranked.filter((hit) => hit !== drawn)
  return [...others.slice(0, TURN), { ...drawn, turn: true }, ...others.slice(TURN)]
}
