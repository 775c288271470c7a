import type {
  Aspect,
  OpinionEvidence,
  SentenceSentiment,
  Sentiment,
  SentimentLabel,
} from '../engine.ts'
import type { Span } from '../tokens.ts'
import {
  type Judgment,
  type Question,
  roundToThousandths,
  schemaPart,
  versionOf,
} from './question.ts'
import { type SpanFinder, spanFinder } from './span-finder.ts'

const GUIDE =
  'You tell what a text feels about what it speaks of. It comes as a list of [number, ' +
  'sentence]. overall: label, score from -1 to 1, and how sure you are. sentences: only those' +
  ' that are not neutral, by their number, with label and score. aspects: the things that the' +
  ' text has an opinion about, such as "battery" or "service", each in its own words, once, ' +
  'with label, score, how sure you are, every mention of it, and as evidence the words that ' +
  'carry the opinion, with negated true where a negation turns them round. A positive score ' +
  'goes with positive, a negative one with negative, and mixed is for praise and blame alike.' +
  ' Report facts without opinion as neutral.'

const ASPECTS_MAX = 60
const MENTIONS_MAX = 30
/** Maximum sentences listed in a response. */
const SENTENCES_MAX = 500

const labelAndScore = { label: schemaPart.label, score: schemaPart.score }
const schemaOf = (sentences: number) =>
  schemaPart.object({
    overall: schemaPart.object({ ...labelAndScore, confidence: schemaPart.share }),
    sentences: schemaPart.list(
      schemaPart.object({
        sentence: { type: 'integer', minimum: 1, maximum: Math.max(1, sentences) },
        ...labelAndScore,
      }),
      Math.max(1, sentences),
    ),
    aspects: schemaPart.list(
      schemaPart.object({
        aspect: schemaPart.words,
        ...labelAndScore,
        confidence: schemaPart.share,
        mentions: schemaPart.list(schemaPart.words, MENTIONS_MAX),
        evidence: schemaPart.list(
          schemaPart.object({ text: schemaPart.words, negated: { type: 'boolean' } }),
          MENTIONS_MAX,
        ),
      }),
      ASPECTS_MAX,
    ),
  })

export const SENTIMENT_VERSION = versionOf(GUIDE, schemaOf(1))

interface LabeledScore {
  readonly label: SentimentLabel
  readonly score: number
}

interface Answer {
  readonly overall: LabeledScore & { readonly confidence: number }
  readonly sentences: readonly (LabeledScore & { readonly sentence: number })[]
  readonly aspects: readonly (LabeledScore & {
    readonly aspect: string
    readonly confidence: number
    readonly mentions: readonly string[]
    readonly evidence: readonly { readonly text: string; readonly negated: boolean }[]
  })[]
}

/** Sentiment of consecutive sentences; spans refer to the whole text. */
export interface PieceSentiment {
  readonly overall: Answer['overall']
  readonly sentences: readonly SentenceSentiment[]
  readonly aspects: readonly Aspect[]
}

export const sentimentQuestion = (
  text: string,
  sentences: readonly Span[],
): Question<PieceSentiment> => {
  const start = sentences[0]?.start ?? 0
  const end = sentences.at(-1)?.end ?? 0
  const piece = { text: text.slice(start, end), start }
  return {
    guide: GUIDE,
    details: { sentences: sentences.length },
    text: sentences.map((one, index) => [index + 1, text.slice(one.start, one.end)]),
    schema: schemaOf(sentences.length),
    expectedTokens: 300 + sentences.length * 8,
    judge: (value) => judge(value as Answer, sentences, piece),
  }
}

interface Piece {
  readonly text: string
  /** Offset of the piece in the whole text. */
  readonly start: number
}

const SIGNS = { positive: 1, negative: -1 } as const

const contradicts = ({ label, score }: LabeledScore): boolean =>
  (label === 'positive' || label === 'negative') && score * SIGNS[label] <= 0

const judge = (
  { overall, sentences: labeled, aspects }: Answer,
  sentences: readonly Span[],
  piece: Piece,
): Judgment<PieceSentiment> => {
  const contradictions = [overall, ...labeled, ...aspects].filter(contradicts)
  if (contradictions.length > 0) {
    return {
      issues: contradictions.slice(0, 5).map((one) => `${one.label} with a score of ${one.score}`),
    }
  }
  const byNumber = new Map(labeled.map((one) => [one.sentence, one]))
  const finder = spanFinder(piece.text)
  const grounded = aspects.map((one) => groundAspect(one, finder, piece))
  const kept = grounded.filter((one) => one.mentions.length > 0 || one.evidence.length > 0)
  const value = {
    overall,
    sentences: sentences.map(({ start, end }, index): SentenceSentiment => {
      const { label, score } = byNumber.get(index + 1) ?? { label: 'neutral', score: 0 }
      return { start, end, label, score: roundToThousandths(score) }
    }),
    aspects: kept,
  }
  return { value, dropped: grounded.length - kept.length }
}

const groundAspect = (
  { aspect, label, score, confidence, mentions, evidence }: Answer['aspects'][number],
  finder: SpanFinder,
  piece: Piece,
): Aspect => {
  const spansOf = (surface: string): readonly Span[] =>
    finder
      .all(surface.trim())
      .map(({ start, end }) => ({ start: start + piece.start, end: end + piece.start }))
  const spans = distinct([...new Set([aspect, ...mentions])].flatMap(spansOf))
  return {
    aspect,
    label,
    score: roundToThousandths(score),
    confidence: roundToThousandths(confidence),
    mentions: spans.slice(0, MENTIONS_MAX),
    evidence: distinct(
      evidence.flatMap(({ text, negated }): OpinionEvidence[] => {
        const [span] = spansOf(text)
        if (span === undefined) return []
        const words = piece.text.slice(span.start - piece.start, span.end - piece.start)
        return [{ text: words, ...span, negated }]
      }),
    ),
  }
}

const distinct = <T extends Span>(spans: readonly T[]): readonly T[] => [
  ...new Map(
    spans.toSorted((a, b) => a.start - b.start).map((one) => [`${one.start} ${one.end}`, one]),
  ).values(),
]

/** Merges the sentiments of all chunks. */
export const mergeSentiments = (pieces: readonly PieceSentiment[]): Sentiment => {
  const sentences = pieces.flatMap((one) => one.sentences)
  const lengths = pieces.map(({ sentences }) => sentences.length)
  const overall = mean(pieces.map((one, index) => [one.overall, lengths[index] ?? 0]))
  const named = Map.groupBy(
    pieces.flatMap((one) => one.aspects),
    ({ aspect }) => aspect.normalize('NFKC').trim().toLowerCase(),
  )
  return {
    overall: {
      ...overall,
      magnitude: roundToThousandths(sum(sentences.map((one) => Math.abs(one.score)))),
    },
    sentences: sentences.slice(0, SENTENCES_MAX),
    sentences_omitted: Math.max(0, sentences.length - SENTENCES_MAX),
    aspects: [...named.values()].flatMap((same): Aspect[] => {
      const [first] = same
      if (first === undefined) return []
      const scored = mean(same.map((one) => [one, Math.max(1, one.mentions.length)]))
      const evidence = distinct(same.flatMap((one) => one.evidence))
      return [{ aspect: first.aspect, ...scored, mentions: mentionsOf(same), evidence }]
    }),
  }
}

const mentionsOf = (same: readonly Aspect[]): readonly Span[] =>
  distinct(same.flatMap((one) => one.mentions))

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0)

type ConfidentScore = LabeledScore & { readonly confidence: number }

/** Weighted mean of labeled scores; different non-neutral labels give `mixed`. */
const mean = (scored: readonly (readonly [ConfidentScore, number])[]): ConfidentScore => {
  const whole = sum(scored.map(([, weight]) => weight)) || 1
  const of = (value: (one: ConfidentScore) => number): number =>
    roundToThousandths(sum(scored.map(([one, weight]) => value(one) * weight)) / whole)
  const labels = new Set(scored.map(([{ label }]) => label).filter((label) => label !== 'neutral'))
  const [only = 'neutral'] = labels
  const label = labels.size > 1 ? 'mixed' : only
  return { label, score: of(({ score }) => score), confidence: of(({ confidence }) => confidence) }
}
