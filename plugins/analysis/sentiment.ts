import { confidenceAt } from './calibration.ts'
import type { Overall, SentimentLabel } from './engine.ts'
import { newsOf } from './finance.ts'
import { oddsOf, type PolarityModel, polarity, signsOf } from './polarity.ts'
import type { Sentence } from './text.ts'
import type { Token } from './tokens.ts'
import { type Opinion, opinionsOf } from './valence.ts'

/** One sentence read, with what the aspects need. */
export interface ReadSentence {
  readonly sentence: Sentence
  readonly opinions: readonly Opinion[]
  /** The log-odds of praise against blame. */
  readonly odds: number
  readonly score: number
  readonly label: SentimentLabel
}

/** Where opinion words are weak or absent, the odds have to be this clear. */
const CLEAR = 2
const STRONG = 1.3
const NEUTRAL_BAND = 0.25

/** Reads each sentence: opinion words, score -1 to 1, label. */
export const readSentences = (
  sentences: readonly Sentence[],
  model: PolarityModel = polarity(),
): ReadSentence[] =>
  sentences.map((sentence) => {
    if (!sentence.tokens.some(isWord)) return silent(sentence)
    const news = newsOf(sentence)
    const opinions = news ?? opinionsOf(sentence)
    const odds =
      news === undefined
        ? oddsOf(signsOf(sentence.tokens, opinions, model), model)
        : massOf(opinions).praise - massOf(opinions).blame
    const isStrong = opinions.some(({ valence }) => Math.abs(valence) >= STRONG)
    const isTold = news === undefined ? isStrong || Math.abs(odds) > CLEAR : opinions.length > 0
    const score = scoreOf(odds)
    const label = isTold ? labelOf(score, massOf(opinions)) : 'neutral'
    return { sentence, opinions, odds, score, label }
  })

const isWord = ({ shape }: Token): boolean => shape !== 'mark' && shape !== 'number'

/** A sentence without words. */
const silent = (sentence: Sentence): ReadSentence => ({
  sentence,
  opinions: [],
  odds: 0,
  score: 0,
  label: 'neutral',
})

/** What praise is over-read by; seen on two development corpora. */
const LEAN = 0.15
const scoreOf = (odds: number): number => 2 / (1 + Math.exp(LEAN - odds)) - 1

interface Mass {
  readonly praise: number
  readonly blame: number
}

const massOf = (opinions: readonly { readonly valence: number }[]): Mass => ({
  praise: opinions.reduce((sum, { valence }) => sum + Math.max(0, valence), 0),
  blame: opinions.reduce((sum, { valence }) => sum + Math.max(0, -valence), 0),
})

/** Mixed: praise and blame both strong, neither twice the other, and the odds undecided. */
const labelOf = (score: number, { praise, blame }: Mass): SentimentLabel => {
  const [less, more] = praise < blame ? [praise, blame] : [blame, praise]
  if (less >= 1.2 && less / more >= 0.5 && Math.abs(score) < 0.6) return 'mixed'
  return score >= NEUTRAL_BAND ? 'positive' : score <= -NEUTRAL_BAND ? 'negative' : 'neutral'
}

/** The sentiment of the whole text: the odds of its sentences add up, ever less. */
export const overallOf = (read: readonly ReadSentence[]): Overall => {
  const told = read.filter(({ label }) => label !== 'neutral')
  const counted = told.length > 0 ? told : read
  const sum = counted.reduce((total, { odds }) => total + odds, 0)
  const score = scoreOf(sum / Math.sqrt(Math.max(1, counted.length)))
  const mass =
    told.length === 1
      ? massOf(told[0]?.opinions ?? [])
      : massOf(told.map((one) => ({ valence: one.score * 2 })))
  const label = told.length === 0 ? 'neutral' : labelOf(score, mass)
  return {
    label,
    score: round(score),
    confidence: confidenceAt(label, label === 'neutral' || label === 'mixed' ? 1 : Math.abs(score)),
    magnitude: round(told.reduce((total, one) => total + Math.abs(one.score), 0)),
  }
}

export const round = (value: number): number => Math.round(value * 1_000) / 1_000 + 0
