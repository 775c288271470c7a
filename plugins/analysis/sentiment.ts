import { confidenceAt } from './calibration.ts'
import { complaintsIn, isTopic } from './complaints.ts'
import type { Overall, SentimentLabel } from './engine.ts'
import { newsOf } from './finance.ts'
import { oddsOf, type PolarityModel, polarityFeatures, polarityModel } from './polarity.ts'
import type { Sentence } from './text.ts'
import type { Token } from './tokens.ts'
import { type Opinion, opinionsOf } from './valence.ts'

/** Sentiment of one sentence, with the inputs of aspect detection. */
export interface SentenceReading {
  readonly sentence: Sentence
  readonly opinions: readonly Opinion[]
  /** Log-odds of praise over blame. */
  readonly odds: number
  readonly score: number
  readonly label: SentimentLabel
}

/** Minimum absolute odds if opinion words are weak or absent. */
const CLEAR_ODDS = 2
const STRONG_VALENCE = 1.3
const NEUTRAL_BAND = 0.25
/** Odds per valence of opinions that the polarity model does not know. */
const FURTHER_WEIGHT = 2

/** Computes opinion words, score (-1 to 1) and label of each sentence. */
export const readSentences = (
  sentences: readonly Sentence[],
  model: PolarityModel = polarityModel(),
): SentenceReading[] =>
  sentences.map((sentence) => {
    if (!sentence.tokens.some(isWord)) return neutralReading(sentence)
    const news = newsOf(sentence)
    const { tokens } = sentence
    const complaints = news === undefined ? complaintsIn(tokens) : undefined
    const further = complaints?.opinions ?? []
    const known =
      news ??
      opinionsOf(sentence).filter(({ at }) => !isTopic(tokens, at) && !complaints?.tokens.has(at))
    const opinions = [...known, ...further].sort((a, b) => a.at - b.at)
    const { praise, blame } = massOf(news ?? further)
    const odds =
      news === undefined
        ? oddsOf(polarityFeatures(tokens, known, model), model) + FURTHER_WEIGHT * (praise - blame)
        : praise - blame
    const isStrong = opinions.some(({ valence }) => Math.abs(valence) >= STRONG_VALENCE)
    const hasSentiment =
      news === undefined ? isStrong || Math.abs(odds) > CLEAR_ODDS : opinions.length > 0
    const score = scoreOf(odds)
    const label = hasSentiment ? labelOf(score, massOf(opinions)) : 'neutral'
    return { sentence, opinions, odds, score: consistentScore(label, score), label }
  })

const isWord = ({ shape }: Token): boolean => shape !== 'mark' && shape !== 'number'

/** Result for a sentence without words. */
const neutralReading = (sentence: Sentence): SentenceReading => ({
  sentence,
  opinions: [],
  odds: 0,
  score: 0,
  label: 'neutral',
})

/** Bias towards praise, measured on two development corpora. */
const PRAISE_BIAS = 0.15
const scoreOf = (odds: number): number => 2 / (1 + Math.exp(PRAISE_BIAS - odds)) - 1

interface Mass {
  readonly praise: number
  readonly blame: number
}

const massOf = (opinions: readonly { readonly valence: number }[]): Mass => ({
  praise: opinions.reduce((sum, { valence }) => sum + Math.max(0, valence), 0),
  blame: opinions.reduce((sum, { valence }) => sum + Math.max(0, -valence), 0),
})

/** Mixed: praise and blame are both strong, neither is twice the other, the score is undecided. */
const labelOf = (score: number, { praise, blame }: Mass): SentimentLabel => {
  const [less, more] = praise < blame ? [praise, blame] : [blame, praise]
  if (less >= 1.2 && less / more >= 0.5 && Math.abs(score) < 0.6) return 'mixed'
  return score >= NEUTRAL_BAND ? 'positive' : score <= -NEUTRAL_BAND ? 'negative' : 'neutral'
}

const NEUTRAL_MAX = 0.24
const MIXED_MAX = 0.59
/** Limits the score of a neutral or mixed label, so that both say the same. */
const consistentScore = (label: SentimentLabel, score: number): number => {
  const most = label === 'neutral' ? NEUTRAL_MAX : label === 'mixed' ? MIXED_MAX : 1
  return Math.max(-most, Math.min(most, score))
}

/** Sum of the sentence odds, divided by the square root of their count. */
export const overallOf = (read: readonly SentenceReading[]): Overall => {
  const opinionated = read.filter(({ label }) => label !== 'neutral')
  const counted = opinionated.length > 0 ? opinionated : read
  const sum = counted.reduce((total, { odds }) => total + odds, 0)
  const score = scoreOf(sum / Math.sqrt(Math.max(1, counted.length)))
  const mass =
    opinionated.length === 1
      ? massOf(opinionated[0]?.opinions ?? [])
      : massOf(opinionated.map((one) => ({ valence: one.score * 2 })))
  const label = opinionated.length === 0 ? 'neutral' : labelOf(score, mass)
  return {
    label,
    score: round(consistentScore(label, score)),
    confidence: confidenceAt(label, label === 'neutral' || label === 'mixed' ? 1 : Math.abs(score)),
    magnitude: round(opinionated.reduce((total, one) => total + Math.abs(one.score), 0)),
  }
}

export const round = (value: number): number => Math.round(value * 1_000) / 1_000 + 0
