import { analyze } from './analyze.ts'
import { aspectsOf } from './aspects.ts'
import { classify } from './classify.ts'
import {
  type Classification,
  type ClassifyTask,
  ENTITY_TYPES,
  type Engine,
  type Sentiment,
} from './engine.ts'
import { extractEntities } from './entities.ts'
import type { FactInput } from './facts.ts'
import { overallOf, readSentences, round } from './sentiment.ts'
import { type Sentence, sentencesOf } from './text.ts'

const SENTENCES_MAX = 500
const ALL_TYPES = new Set(ENTITY_TYPES)
/** Labels supported by the sentiment of a text. */
const SENTIMENT_LABELS = /^(?:positive|negative|neutral)$/i
/** Minimum confidence for an independent label to apply. */
const CONFIDENCE_MIN = 0.5

/** Engine with small models and rules: English, offline, processor only. */
export const embedded: Engine = {
  about: {
    name: 'embedded',
    version: '2.0.0',
    model: 'tagger-en-1',
    prompt_version: null,
    deterministic: true,
    confidence_source: 'calibrated',
  },
  entities: (document, task) => extractEntities(document, sentencesOf(document.text), task),
  sentiment: (document) => sentimentOf(document.text, sentencesOf(document.text)),
  classify: (document, task) => choose(sentencesOf(document.text), task),
  analyze: (document, task) => {
    const sentences = sentencesOf(document.text)
    const { instructions, offset, referenceDate } = task
    const dated = referenceDate === undefined ? {} : { referenceDate }
    const entities = lazy(() =>
      extractEntities(document, sentences, { types: ALL_TYPES, ...dated }),
    )
    const sentiment = lazy(() => sentimentOf(document.text, sentences))
    const reading: FactInput = {
      document,
      sentences,
      instructions,
      entities,
      sentiment,
      offset,
      facts: new Map(),
    }
    return analyze(reading, task)
  },
}

const lazy = <T>(compute: () => T): (() => T) => {
  let value: { readonly of: T } | undefined
  return () => (value ??= { of: compute() }).of
}

/** Sentiment of a text. Lists at most 500 sentences but counts all of them. */
const sentimentOf = (text: string, sentences: readonly Sentence[]): Sentiment => {
  const read = readSentences(sentences)
  return {
    overall: overallOf(read),
    sentences: read.slice(0, SENTENCES_MAX).map(({ sentence: { start, end }, label, score }) => ({
      start,
      end,
      label,
      score: round(score),
    })),
    sentences_omitted: Math.max(0, read.length - SENTENCES_MAX),
    aspects: aspectsOf(text, read),
  }
}

const choose = (sentences: readonly Sentence[], task: ClassifyTask): Classification => {
  const { categories, multiLabel, allowNone } = task
  const isMood = categories.some(({ name }) => SENTIMENT_LABELS.test(name.trim()))
  const mood = isMood ? overallOf(readSentences(sentences)).score : 0
  const scored = classify(sentences, categories, { several: multiLabel, mood })
  const likely = scored.filter(({ confidence, evidence }, rank) =>
    multiLabel ? confidence >= CONFIDENCE_MIN : rank === 0 && evidence > 0,
  )
  const chosen = likely.length > 0 || allowNone ? likely : scored.slice(0, 1)
  return {
    categories: scored.map(({ name, confidence, index }) => ({ name, confidence, index })),
    labels: chosen.map(({ name }) => name),
    abstained: chosen.length === 0,
  }
}
