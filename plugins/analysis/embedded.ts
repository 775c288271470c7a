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
import type { Reading } from './facts.ts'
import { overallOf, readSentences, round } from './sentiment.ts'
import { type Sentence, sentencesOf } from './text.ts'

const MOST_SENTENCES = 500
const ALL_TYPES = new Set(ENTITY_TYPES)
/** Labels that the sentiment of a text speaks for. */
const MOODS = /^(?:positive|negative|neutral)$/i
/** Independent labels at least this likely hold. */
const LIKELY = 0.5

/** The engine that needs nothing but the processor: small models and rules, English, offline. */
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
    const entities = once(() =>
      extractEntities(document, sentences, { types: ALL_TYPES, ...dated }),
    )
    const sentiment = once(() => sentimentOf(document.text, sentences))
    const reading: Reading = {
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

const once = <T>(compute: () => T): (() => T) => {
  let value: { readonly of: T } | undefined
  return () => (value ??= { of: compute() }).of
}

/** A text of more than 500 sentences has its first 500 listed, and all of them counted. */
const sentimentOf = (text: string, sentences: readonly Sentence[]): Sentiment => {
  const read = readSentences(sentences)
  return {
    overall: overallOf(read),
    sentences: read.slice(0, MOST_SENTENCES).map(({ sentence: { start, end }, label, score }) => ({
      start,
      end,
      label,
      score: round(score),
    })),
    sentences_omitted: Math.max(0, read.length - MOST_SENTENCES),
    aspects: aspectsOf(text, read),
  }
}

const choose = (sentences: readonly Sentence[], task: ClassifyTask): Classification => {
  const { categories, multiLabel, allowNone } = task
  const isMood = categories.some(({ name }) => MOODS.test(name.trim()))
  const mood = isMood ? overallOf(readSentences(sentences)).score : 0
  const scored = classify(sentences, categories, { several: multiLabel, mood })
  const likely = scored.filter(({ confidence, evidence }, rank) =>
    multiLabel ? confidence >= LIKELY : rank === 0 && evidence > 0,
  )
  const chosen = likely.length > 0 || allowNone ? likely : scored.slice(0, 1)
  return {
    categories: scored.map(({ name, confidence, index }) => ({ name, confidence, index })),
    labels: chosen.map(({ name }) => name),
    abstained: chosen.length === 0,
  }
}
