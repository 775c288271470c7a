import { confidenceAt } from './calibration.ts'
import { isFailing, isTopic } from './complaints.ts'
import type { Aspect, OpinionEvidence } from './engine.ts'
import { readWordSet } from './lexicon.ts'
import { oddsOf, polarityFeatures, polarityModel } from './polarity.ts'
import { round, type SentenceReading } from './sentiment.ts'
import type { Span, Token } from './tokens.ts'
import { isOpinion, type Opinion } from './valence.ts'

/** One mention of an aspect and the weighted opinion on it. */
export interface Mention extends Span {
  readonly aspect: string
  readonly polarity: number
  readonly evidence: readonly OpinionEvidence[]
}

const FUNCTION_WORDS = readWordSet('function-words.txt')
const STOPS = readWordSet('aspect-stops.txt')
const OPENERS = new Set(
  'the a an this that these those my your his her its our their of with for'.split(' '),
)
const COPULAS = new Set(
  (
    "is are was were isn't aren't wasn't weren't has have had seems seemed looks looked " +
    'feels felt tastes tasted smells smelled sounds sounded arrived arrives keeps kept stopped ' +
    "broke leaks died does doesn't did didn't won't can't cannot never"
  ).split(' '),
)
/** Ends a clause, whose opinions say little of the next one. */
const CLAUSE_END = /^(?:[;.:]|but|although|though|however|while|whereas|except)$/
const CONCESSION = /^(?:although|though|while|whereas|despite|if)$/
const isClauseEnd = (tokens: readonly Token[], at: number): boolean => {
  const word = tokens[at]?.lower ?? ''
  if (word === 'yet') return tokens[at - 1]?.lower === ','
  if (word === 'even') return tokens[at + 1]?.lower === 'if'
  if (word === ',') return at < NEAR_TOKENS && isFirstComma(tokens, at)
  return CLAUSE_END.test(word)
}
/** True for the comma after a concession that opens a sentence: `Although …, …`. */
const isFirstComma = (tokens: readonly Token[], at: number): boolean =>
  CONCESSION.test(tokens[tokens[0]?.lower === 'even' ? 1 : 0]?.lower ?? '') &&
  !tokens.slice(0, at).some(({ lower }) => lower === ',')
const ASPECT_TOKENS_MAX = 3
const NEAR_TOKENS = 24
/** Weight factor of an opinion beyond the end of its clause. */
const CLAUSE_END_FACTOR = 0.25
const SOFT_END_FACTOR = 0.6
/** Weight of the clause's overall sentiment, added to the opinions near an aspect. */
const CLAUSE_WEIGHT = 0.3
/** From here on, opinions near an aspect outweigh the sentiment of its clause. */
const DIRECT_POLARITY = 0.9
const POLARITY_MIN = 0.35
/** Nouns that are usually mentioned in passing; they need a clearer opinion. */
const INCIDENTAL_POLARITY_MIN = 0.7
const INCIDENTAL = new Set(
  (
    'bar table tables reservation reservations menu dinner lunch meal drink drinks brunch ' +
    'breakfast dining kitchen chef waiter waitress check bill course courses dish dishes entree ' +
    'entrees appetizer appetizers dessert desserts windows program programs software cd memory ' +
    'ram game games warranty internet'
  ).split(' '),
)
/** `Try the curry` is a recommendation; waiting is a complaint. */
const RECOMMENDS = /^(?:try|get|order)$/
const IMPATIENCE = /^(?:wait|waiting|wait time)$/
const ASPECTS_MAX = 50

/** The aspects of a text, most mentioned first; at most 50. */
export const aspectsOf = (text: string, read: readonly SentenceReading[]): Aspect[] => {
  const groups = new Map<string, Mention[]>()
  for (const mention of read.flatMap((one) => mentionsOf(text, one))) {
    const group = groups.get(mention.aspect)
    if (group === undefined) groups.set(mention.aspect, [mention])
    else group.push(mention)
  }
  return Array.from(groups, ([aspect, mentions]) => summarize(aspect, mentions))
    .sort((a, b) => b.mentions.length - a.mentions.length)
    .slice(0, ASPECTS_MAX)
}

/** Maps a polarity to -1 to 1. */
export const strengthOf = (polarity: number): number =>
  polarity / Math.sqrt(polarity * polarity + 2)

const summarize = (aspect: string, mentions: readonly Mention[]): Aspect => {
  const praised = mentions.some(({ polarity }) => polarity > POLARITY_MIN)
  const blamed = mentions.some(({ polarity }) => polarity < -POLARITY_MIN)
  const mean = mentions.reduce((sum, { polarity }) => sum + polarity, 0) / mentions.length
  const score = strengthOf(mean)
  return {
    aspect,
    label: praised && blamed ? 'mixed' : score > 0 ? 'positive' : 'negative',
    score: round(score),
    confidence: confidenceAt('aspect', Math.abs(score)),
    mentions: mentions.map(({ start, end }) => ({ start, end })),
    evidence: mentions.flatMap(({ evidence }) => evidence),
  }
}

/** Mentions in one sentence that have an opinion near them. */
export const mentionsOf = (text: string, read: SentenceReading): Mention[] => {
  if (read.opinions.length === 0) return []
  return candidates(text, read).flatMap(({ from, to }) => {
    const mention = mentionAt(text, read, from, to)
    return mention.polarity === 0 || mention.evidence.length === 0 ? [] : [mention]
  })
}

/** Opinions on the tokens `from` to `to` (exclusive), weighted by distance; 0 is neutral. */
export const mentionAt = (
  text: string,
  { sentence: { tokens }, opinions }: SentenceReading,
  from: number,
  to: number,
): Mention => {
  const start = tokens[from]?.start ?? 0
  const end = tokens[to - 1]?.end ?? 0
  const aspect = nameOf(text.slice(start, end))
  const near = nearOpinions(tokens, opinions, from, to)
  let direct = near.reduce((sum, { valence, weight }) => sum + valence * weight, 0)
  if (RECOMMENDS.test(tokens[0]?.lower ?? '') && from < 6) direct += 1
  if (IMPATIENCE.test(aspect) && Math.abs(direct) < 1) direct -= 1
  const clause = clauseOdds(tokens, opinions, from, to)
  const isContradicted = direct * clause < 0 && Math.abs(direct) >= DIRECT_POLARITY
  const sum = isContradicted ? direct : direct + CLAUSE_WEIGHT * clause
  const needed = INCIDENTAL.has(aspect) ? INCIDENTAL_POLARITY_MIN : POLARITY_MIN
  const evidence = near
    .filter(({ weight }) => weight >= 0.3)
    .map(({ text, start, end, negated }) => ({ text, start, end, negated }))
  return { aspect, start, end, polarity: Math.abs(sum) < needed ? 0 : sum, evidence }
}

const SOFT_END = /^(?:[,()—–]|and)$/

const clauseOdds = (
  tokens: readonly Token[],
  opinions: readonly Opinion[],
  from: number,
  to: number,
): number => {
  let first = from
  while (first > 0 && from - first < NEAR_TOKENS && !isClauseEnd(tokens, first - 1)) {
    first -= 1
  }
  let last = to
  while (last - to < NEAR_TOKENS && last < tokens.length && !isClauseEnd(tokens, last)) {
    last += 1
  }
  const inside = between(opinions, first, last)
  const model = polarityModel()
  return oddsOf(polarityFeatures(tokens.slice(first, last), inside, model), model)
}

const nameOf = (surface: string): string => surface.toLowerCase().replace(/\s+/g, ' ')

const nearOpinions = (
  tokens: readonly Token[],
  opinions: readonly Opinion[],
  from: number,
  to: number,
): (Opinion & { weight: number })[] => {
  const hasOwn = hasOwnOpinion(tokens, opinions, from, to)
  return between(opinions, from - NEAR_TOKENS, to + NEAR_TOKENS).flatMap((opinion) => {
    const { at } = opinion
    const distance = at < from ? from - at : at - to + 1
    if (at >= from && at < to) return []
    let weight = 1 / (0.7 + distance * 0.3)
    for (let between = Math.min(at, to); between < Math.max(at, from); between += 1) {
      const lower = tokens[between]?.lower ?? ''
      if (isClauseEnd(tokens, between)) weight *= CLAUSE_END_FACTOR
      else if (lower === ',' && hasOwn) weight *= CLAUSE_END_FACTOR
      else if (SOFT_END.test(lower)) weight *= SOFT_END_FACTOR
    }
    return [{ ...opinion, weight }]
  })
}

/** True if the part between commas that contains the aspect has an opinion of its own. */
const hasOwnOpinion = (
  tokens: readonly Token[],
  opinions: readonly Opinion[],
  from: number,
  to: number,
): boolean => {
  const isEnd = (at: number): boolean =>
    tokens[at] === undefined || tokens[at].lower === ',' || isClauseEnd(tokens, at)
  let [first, last] = [from, to]
  while (from - first < NEAR_TOKENS && !isEnd(first - 1)) first -= 1
  while (last - to < NEAR_TOKENS && !isEnd(last)) last += 1
  return between(opinions, first, last).some(({ at }) => at < from || at >= to)
}

/** Opinions at tokens from `low` (inclusive) to `high` (exclusive), by binary search. */
const between = (opinions: readonly Opinion[], low: number, high: number): Opinion[] => {
  const first = (place: number): number => {
    let [from, to] = [0, opinions.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((opinions[middle]?.at ?? 0) < place) from = middle + 1
      else to = middle
    }
    return from
  }
  return opinions.slice(first(low), first(high))
}

const isNounLike = (token: Token | undefined): token is Token =>
  token !== undefined &&
  (token.shape === 'lower' || token.shape === 'title' || token.shape === 'upper') &&
  token.text.length > 2 &&
  !FUNCTION_WORDS.has(token.lower) &&
  !STOPS.has(token.lower) &&
  !CLAUSE_END.test(token.lower) &&
  !/(?:ly|'ve|'re|'ll|n't|'m|'d)$/.test(token.lower) &&
  !isOpinion(token)

const isNounAt = (tokens: readonly Token[], at: number): boolean =>
  isNounLike(tokens[at]) || isTopic(tokens, at) || isFailing(tokens, at)

/** Runs of up to three noun-like words in a noun position. */
const candidates = (
  text: string,
  { sentence: { tokens }, opinions }: SentenceReading,
): { from: number; to: number }[] => {
  const opinionated = new Set(opinions.map(({ at }) => at))
  const runs: { from: number; to: number }[] = []
  for (let at = 0; at < tokens.length; at += 1) {
    const isAdjective =
      opinionated.has(at) && isNounLike(tokens[at + 1]) && !opinionated.has(at + 1)
    if (!isNounAt(tokens, at) || isAdjective) continue
    let to = at + 1
    while (
      to - at < ASPECT_TOKENS_MAX &&
      isNounAt(tokens, to) &&
      isOneSpace(text, tokens, to) &&
      !isVerbAt(tokens, to) &&
      !opinionated.has(to)
    )
      to += 1
    if (isNounPosition(tokens, at, to, opinionated)) runs.push({ from: at, to })
    at = to - 1
  }
  return runs
}

/** True for a verb after a noun, as in `the teacher explains everything`. */
const isVerbAt = (tokens: readonly Token[], at: number): boolean => {
  const word = tokens[at]?.lower ?? ''
  const next = tokens[at + 1]
  const isEnding = /(?:[^s]s|ed)$/.test(word) && !/[^s]s$/.test(tokens[at - 1]?.lower ?? '')
  return isEnding && next !== undefined && next.shape === 'lower' && !isAfterNoun(next.lower)
}
const isAfterNoun = (word: string): boolean =>
  COPULAS.has(word) ||
  CLAUSE_END.test(word) ||
  /^(?:and|or|of|that|which|will|would|can)$/.test(word)

const isOneSpace = (text: string, tokens: readonly Token[], at: number): boolean =>
  text.slice(tokens[at - 1]?.end, tokens[at]?.start) === ' '

const isNounPosition = (
  tokens: readonly Token[],
  from: number,
  to: number,
  opinionated: ReadonlySet<number>,
): boolean => {
  const before = tokens[from - 1]
  const after = tokens[to]
  const isStart = before === undefined || before.lower === ',' || isClauseEnd(tokens, from - 1)
  return (
    (before !== undefined && (OPENERS.has(before.lower) || isOpinion(before))) ||
    opinionated.has(from - 1) ||
    (after !== undefined && COPULAS.has(after.lower)) ||
    (isStart && opinionated.has(to))
  )
}
