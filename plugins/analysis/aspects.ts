import type { Aspect, Evidence } from './engine.ts'
import { words } from './lexicon.ts'
import { type ReadSentence, round } from './sentiment.ts'
import type { Span, Token } from './text.ts'
import { isOpinion, type Opinion } from './valence.ts'

/** One mention of an aspect and the weighted opinion on it. */
export interface Mention extends Span {
  readonly aspect: string
  readonly polarity: number
  readonly evidence: readonly Evidence[]
}

const FUNCTION_WORDS = words('function-words.txt')
const STOPS = words('aspect-stops.txt')
const OPENERS = new Set(
  'the a an this that these those my your his her its our their of with for'.split(' '),
)
const COPULAS = new Set(
  (
    "is are was were isn't aren't wasn't weren't has have had seems seemed looks looked " +
    'feels felt tastes tasted'
  ).split(' '),
)
const LONGEST = 3
const NEAR = 8
/** An opinion across a clause boundary counts this much. */
const ACROSS = 0.25
const NEEDED = 0.35
const MOST_ASPECTS = 50

/** The aspects of a text, most mentioned first; at most 50. */
export const aspectsOf = (text: string, read: readonly ReadSentence[]): Aspect[] => {
  const groups = new Map<string, Mention[]>()
  for (const mention of read.flatMap((one) => mentionsOf(text, one))) {
    const group = groups.get(mention.aspect)
    if (group === undefined) groups.set(mention.aspect, [mention])
    else group.push(mention)
  }
  return Array.from(groups, ([aspect, mentions]) => summarize(aspect, mentions))
    .sort((a, b) => b.mentions.length - a.mentions.length)
    .slice(0, MOST_ASPECTS)
}

const summarize = (aspect: string, mentions: readonly Mention[]): Aspect => {
  const praised = mentions.some(({ polarity }) => polarity > NEEDED)
  const blamed = mentions.some(({ polarity }) => polarity < -NEEDED)
  const mean = mentions.reduce((sum, { polarity }) => sum + polarity, 0) / mentions.length
  const score = mean / Math.sqrt(mean * mean + 2)
  return {
    aspect,
    label: praised && blamed ? 'mixed' : score > 0 ? 'positive' : 'negative',
    score: round(score),
    confidence: Math.abs(score) > 0.5 ? 0.8 : 0.7,
    mentions: mentions.map(({ start, end }) => ({ start, end })),
    evidence: mentions.flatMap(({ evidence }) => evidence),
  }
}

/** The mentions of one sentence that an opinion is near enough to. */
export const mentionsOf = (text: string, { sentence, opinions }: ReadSentence): Mention[] => {
  const { tokens } = sentence
  if (opinions.length === 0) return []
  return candidates(text, tokens).flatMap(({ from, to }) => {
    const start = tokens[from]?.start ?? 0
    const end = tokens[to - 1]?.end ?? 0
    const near = nearOpinions(tokens, opinions, from, to)
    const polarity = near.reduce((sum, { valence, weight }) => sum + valence * weight, 0)
    if (Math.abs(polarity) < NEEDED) return []
    const evidence = near
      .filter(({ weight }) => weight >= 0.3)
      .map(({ text, start, end, negated }) => ({ text, start, end, negated }))
    return [{ aspect: nameOf(text.slice(start, end)), start, end, polarity, evidence }]
  })
}

const nameOf = (surface: string): string => surface.toLowerCase().replace(/\s+/g, ' ')

const nearOpinions = (
  tokens: readonly Token[],
  opinions: readonly Opinion[],
  from: number,
  to: number,
): (Opinion & { weight: number })[] =>
  opinions.flatMap((opinion) => {
    const distance = opinion.at < from ? from - opinion.at : opinion.at - to + 1
    if (distance > NEAR) return []
    const [low, high] = opinion.at < from ? [opinion.at, from] : [to, opinion.at]
    const split = tokens
      .slice(low, high)
      .some(({ text }) => /^(?:[,;:.()—–]|but|while|although|though|however|and)$/iu.test(text))
    return [{ ...opinion, weight: (split ? ACROSS : 1) / (0.7 + distance * 0.3) }]
  })

const isNounLike = (token: Token | undefined): token is Token =>
  token !== undefined &&
  (token.shape === 'lower' || token.shape === 'title' || token.shape === 'upper') &&
  token.text.length > 2 &&
  !FUNCTION_WORDS.has(token.lower) &&
  !STOPS.has(token.lower) &&
  !/(?:ly|'ve|'re|'ll|n't|'m|'d)$/.test(token.lower) &&
  !isOpinion(token)

/** Runs of up to three noun-like words that stand where nouns stand. */
const candidates = (text: string, tokens: readonly Token[]): { from: number; to: number }[] => {
  const runs: { from: number; to: number }[] = []
  for (let at = 0; at < tokens.length; at += 1) {
    if (!isNounLike(tokens[at])) continue
    let to = at + 1
    while (to - at < LONGEST && isNounLike(tokens[to]) && isOneSpace(text, tokens, to)) to += 1
    if (standsAsNoun(tokens, at, to)) runs.push({ from: at, to })
    at = to - 1
  }
  return runs
}

const isOneSpace = (text: string, tokens: readonly Token[], at: number): boolean =>
  text.slice(tokens[at - 1]?.end, tokens[at]?.start) === ' '

const standsAsNoun = (tokens: readonly Token[], from: number, to: number): boolean => {
  const before = tokens[from - 1]
  const after = tokens[to]
  return (
    (before !== undefined && (OPENERS.has(before.lower) || isOpinion(before))) ||
    (after !== undefined && COPULAS.has(after.lower))
  )
}
