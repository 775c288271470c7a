import type { Overall, SentimentLabel } from './engine.ts'
import type { Sentence } from './text.ts'
import { type Opinion, opinionsOf } from './valence.ts'

/** One sentence read, with what the aspects need. */
export interface ReadSentence {
  readonly sentence: Sentence
  readonly opinions: readonly Opinion[]
  readonly score: number
  readonly label: SentimentLabel
}

/** Balances the lexicon, whose praise is milder than its blame is frequent. Fitted on dev data. */
const BIAS = -0.4
const NEUTRAL_BAND = 0.15

/** Reads each sentence: opinion words, score -1 to 1, label. */
export const readSentences = (sentences: readonly Sentence[]): ReadSentence[] =>
  sentences.map((sentence) => {
    const opinions = opinionsOf(sentence)
    const score = scoreOf(sentence, opinions)
    return { sentence, opinions, score, label: labelOf(score, massOf(opinions)) }
  })

const scoreOf = ({ tokens }: Sentence, opinions: readonly Opinion[]): number => {
  if (opinions.length === 0) return 0
  const sum = opinions.reduce((total, { valence }) => total + valence, BIAS)
  const cries = Math.min(4, tokens.filter(({ text }) => text === '!').length) * 0.292
  const total = sum + Math.sign(sum) * cries
  return total / Math.sqrt(total * total + 15)
}

interface Mass {
  readonly praise: number
  readonly blame: number
}

const massOf = (opinions: readonly { readonly valence: number }[]): Mass => ({
  praise: opinions.reduce((sum, { valence }) => sum + Math.max(0, valence), 0),
  blame: opinions.reduce((sum, { valence }) => sum + Math.max(0, -valence), 0),
})

/** Mixed: praise and blame both strong, and neither twice the other. */
const labelOf = (score: number, { praise, blame }: Mass): SentimentLabel => {
  const [less, more] = praise < blame ? [praise, blame] : [blame, praise]
  if (less >= 1.2 && less / more >= 0.5) return 'mixed'
  return score >= NEUTRAL_BAND ? 'positive' : score <= -NEUTRAL_BAND ? 'negative' : 'neutral'
}

/** The sentiment of the whole text, from its sentences. */
export const overallOf = (read: readonly ReadSentence[]): Overall => {
  const told = read.filter(({ opinions }) => opinions.length > 0)
  const magnitude = told.reduce((sum, { score }) => sum + Math.abs(score), 0)
  const score = told.reduce((sum, one) => sum + one.score, 0) / Math.max(1, told.length)
  const mass =
    told.length === 1
      ? massOf(told[0]?.opinions ?? [])
      : massOf(told.map(({ score }) => ({ valence: score * 3 })))
  const label = labelOf(score, mass)
  return {
    label,
    score: round(score),
    confidence: confidenceOf(label, Math.abs(score)),
    magnitude: round(magnitude),
  }
}

/** The share of right labels by fifths of strength, and of right `neutral`s: see README.md. */
const RIGHT = [0.68, 0.71, 0.88, 0.9, 0.95]
const RIGHT_NEUTRAL = 0.6
/** No development text is labelled mixed. */
const UNMEASURED = 0.5

const confidenceOf = (label: SentimentLabel, strength: number): number => {
  if (label === 'neutral') return RIGHT_NEUTRAL
  if (label === 'mixed') return UNMEASURED
  return RIGHT[Math.min(4, Math.floor(strength * 5))] ?? UNMEASURED
}

export const round = (value: number): number => Math.round(value * 1_000) / 1_000 + 0
