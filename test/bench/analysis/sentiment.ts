import { mentionAt, mentionsOf } from '../../../plugins/analysis/aspects.ts'
import { type PolarityModel, polarityModel } from '../../../plugins/analysis/polarity.ts'
import { overallOf, readSentences } from '../../../plugins/analysis/sentiment.ts'
import { sentencesOf } from '../../../plugins/analysis/text.ts'
import { foldsOf } from '../../../plugins/analysis/train/sentiment.ts'
import { vaderSentiment, winkSentiment } from './peers.ts'
import { FOLDS, type Row, SHIPPED, signAccuracy } from './rows.ts'
import { accuracy, calibrationError, SpanScore } from './score.ts'
import type { Corpus, LabeledText } from './texts.ts'

/** Text with our result for it. */
const resultOf = (one: LabeledText, model: PolarityModel) => ({
  ...one,
  overall: overallOf(readSentences(sentencesOf(one.text), model)),
})

/** VADER's own thresholds, also applied to wink-nlp, which defines none. */
const THRESHOLD = 0.05
const threeWay = (mood: number): string =>
  mood >= THRESHOLD ? 'positive' : mood <= -THRESHOLD ? 'negative' : 'neutral'

/** Sentiment of whole texts: by sign for two labels, by label for three. */
export const sentimentRows = (corpora: readonly Corpus[]): Row[] =>
  corpora.map(({ name, texts, isTrainingData }) => {
    const judged = isTrainingData
      ? foldsOf(texts).flatMap(({ model, heldOut }) => heldOut.map((one) => resultOf(one, model)))
      : texts.map((one) => resultOf(one, polarityModel()))
    const isThreeWay = texts.some(({ label }) => label === 'neutral')
    const isRight = ({ label, overall }: (typeof judged)[number]): boolean =>
      isThreeWay
        ? label === (overall.label === 'mixed' ? 'neutral' : overall.label)
        : overall.score > 0 === (label === 'positive')
    const peer = (mood: (text: string) => number): number =>
      isThreeWay
        ? accuracy(texts, ({ text, label }) => threeWay(mood(text)) === label)
        : signAccuracy(texts, mood)
    const claims = judged
      .filter(({ overall }) => overall.label !== 'mixed')
      .filter(({ overall }) => isThreeWay || overall.label !== 'neutral')
      .map((one) => ({ confidence: one.overall.confidence, isRight: isRight(one) }))
    return {
      name: `${name}${isThreeWay ? ' (3 labels)' : ''}`,
      ours: accuracy(judged, isRight),
      peers: { wink: peer(winkSentiment), vader: peer(vaderSentiment) },
      texts: texts.length,
      error: calibrationError(claims),
      note: isTrainingData ? FOLDS : SHIPPED,
    }
  })

const LABELS = ['positive', 'negative', 'neutral']

/**
 * Polarity of given aspects among three labels, for which the libraries analyze the whole sentence,
 * and the exact spans of aspects found by our engine.
 */
export const aspectRows = (corpora: readonly Corpus[]): Row[] =>
  corpora.flatMap(({ name, texts }) => {
    const terms = new SpanScore(['term'])
    for (const { text, aspects } of texts) {
      const found = readSentences(sentencesOf(text)).flatMap((read) => mentionsOf(text, read))
      terms.add(
        aspects.map(([start, end]) => [start, end, 'term']),
        found.map(({ start, end }) => ({ start, end, type: 'term' })),
      )
    }
    const aspects = texts.flatMap(({ text, aspects }) =>
      aspects
        .filter(([, , label]) => LABELS.includes(label))
        .map(([start, end, label]) => ({ text, start, end, label })),
    )
    const peer = (mood: (text: string) => number): number =>
      accuracy(aspects, ({ text, label }) => threeWay(mood(text)) === label)
    const ours = accuracy(
      aspects,
      ({ text, start, end, label }) => polarityAt(text, start, end) === label,
    )
    const peers = { wink: peer(winkSentiment), vader: peer(vaderSentiment) }
    return [
      { name: `${name} aspect polarity`, ours, peers, texts: aspects.length, note: SHIPPED },
      {
        name: `${name} aspect terms`,
        ours: terms.f1(),
        peers: {},
        texts: texts.length,
        note: SHIPPED,
      },
    ]
  })

const polarityAt = (text: string, start: number, end: number): string => {
  const sentences = readSentences(sentencesOf(text))
  const read = sentences.find(({ sentence }) => sentence.start <= start && start < sentence.end)
  if (read === undefined) return 'neutral'
  const { tokens } = read.sentence
  const from = tokens.findIndex((token) => token.end > start)
  const to = tokens.findLastIndex((token) => token.start < end) + 1
  const { polarity: sum } = mentionAt(text, read, from, Math.max(to, from + 1))
  return sum > 0 ? 'positive' : sum < 0 ? 'negative' : 'neutral'
}
