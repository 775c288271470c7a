import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { ENTITY_TYPES } from '../../../plugins/analysis/engine.ts'
import { extractEntities } from '../../../plugins/analysis/entities.ts'
import { type Weights } from '../../../plugins/analysis/tagger/decode.ts'
import { parseWeights } from '../../../plugins/analysis/tagger/model.ts'
import { sentencesOf } from '../../../plugins/analysis/text.ts'
import { compromiseNames, compromiseValues, winkValues } from './peers.ts'
import { type Row, SHIPPED, TWIN } from './rows.ts'
import { calibrationError, type FoundSpan, SpanScore } from './score.ts'
import type { Corpus } from './texts.ts'

const ENGLISH = { code: 'en', confidence: 1, supported: true }
const ALL = new Set(ENTITY_TYPES)
const NAMES = ['person', 'organization', 'location']

let loaded: Weights | undefined
/** Tagger trained without the development texts. */
const twin = (): Weights => {
  const packed = readFileSync(new URL('./names-twin.br', import.meta.url))
  return (loaded ??= parseWeights(new Uint8Array(brotliDecompressSync(packed))))
}

const ours = (text: string, isTrainingData: boolean): FoundSpan[] =>
  extractEntities(
    { text, language: ENGLISH },
    sentencesOf(text),
    { types: ALL },
    isTrainingData ? twin() : undefined,
  )

const scored = (
  corpus: Corpus,
  types: readonly string[],
  find: (text: string) => readonly FoundSpan[],
): SpanScore => {
  const score = new SpanScore(types)
  for (const { text, entities } of corpus.texts) score.add(entities, find(text))
  return score
}

/** Exact F1 of the labeled entities of a corpus: names, dates, amounts, products. */
export const entityRows = (corpora: readonly Corpus[]): Row[] =>
  corpora.flatMap((corpus) => {
    const { name, texts, isTrainingData } = corpus
    const labelled = new Set(texts.flatMap(({ entities }) => entities.map(([, , type]) => type)))
    const about = { texts: texts.length, note: isTrainingData ? TWIN : SHIPPED }
    const read = texts.map(({ text }) => ours(text, isTrainingData))
    const again = (): ((text: string) => readonly FoundSpan[]) => {
      let at = 0
      return () => read[at++] ?? []
    }
    const names = scored(corpus, NAMES, again())
    const peers = scored(corpus, NAMES, compromiseNames)
    const rows: Row[] = ['all', ...NAMES].map((type) => ({
      ...about,
      name: `${name} ${type === 'all' ? 'names' : type}`,
      ours: names.f1(type),
      peers: { compromise: peers.f1(type) },
      ...(type === 'all' ? { error: calibrationError(names.claims) } : {}),
    }))
    const values = ['date', 'amount'].filter((type) => labelled.has(type))
    const found = values.map(
      (type) =>
        [
          type,
          scored(corpus, [type], again()),
          scored(corpus, [type], compromiseValues),
          scored(corpus, [type], winkValues),
        ] as const,
    )
    for (const [type, own, compromise, wink] of found) {
      const peers = { compromise: compromise.f1(), wink: wink.f1() }
      const error = calibrationError(own.claims)
      rows.push({ ...about, name: `${name} ${type}`, ours: own.f1(), peers, error })
    }
    if (labelled.has('product')) {
      const product = scored(corpus, ['product'], again()).f1()
      rows.push({ ...about, name: `${name} product`, ours: product, peers: {} })
    }
    return rows
  })
