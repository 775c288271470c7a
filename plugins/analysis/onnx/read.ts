import type { Told } from '../answer.ts'
import { embedded } from '../embedded.ts'
import type {
  About,
  Document,
  EntitiesTask,
  Entity,
  EntityType,
  Found,
  SentenceSentiment,
  Sentiment,
  Task,
} from '../engine.ts'
import { choose } from '../llm/classify.ts'
import { rounded } from '../llm/question.ts'
import type { OnnxSettings } from '../llm/settings.ts'
import { Trouble } from '../llm/trouble.ts'
import type { Asked } from '../request.ts'
import { type Sentence, sentencesOf } from '../text.ts'
import type { Labelled, Pipelines } from './pipelines.ts'

/**
 * Answers with ONNX models what they can do, and leaves the rest of the answer to the house's
 * rules.
 */
export const readBy = async (
  pipelines: Pipelines,
  settings: OnnxSettings,
  { document, task }: Asked,
): Promise<Told> => ({
  found: await foundBy(pipelines, document, task),
  about: aboutOf(settings, task),
  readsAll: true,
  warnings: [],
})

const aboutOf = (settings: OnnxSettings, { kind }: Task): About => ({
  name: settings.name,
  version: '1.0.0',
  model: (kind === 'analyze' ? undefined : settings[kind]) ?? 'none',
  prompt_version: null,
  deterministic: true,
  confidence_source: 'model_self_report',
})

const foundBy = async (pipelines: Pipelines, document: Document, task: Task): Promise<Found> => {
  switch (task.kind) {
    case 'entities':
      return { kind: task.kind, task, value: await entitiesOf(pipelines, document, task) }
    case 'sentiment':
      return { kind: task.kind, value: await sentimentOf(pipelines, document) }
    case 'classify': {
      const labels = task.categories.map(({ name, description }) =>
        description === undefined ? name : `${name}: ${description}`,
      )
      const given = await pipelines.classify(document.text, labels, task.multiLabel)
      const byLabel = new Map(given.labels.map((label, rank) => [label, given.scores[rank] ?? 0]))
      const scores = labels.map((label) => byLabel.get(label) ?? 0)
      return { kind: task.kind, task, value: choose(scores, task) }
    }
    case 'analyze':
      throw new Trouble('unsupported', 'no model fills in formats')
  }
}

/** Labels of the corpora that such models are trained on. */
const TYPES = new Map<string, EntityType>([
  ['PER', 'person'],
  ['PERSON', 'person'],
  ['ORG', 'organization'],
  ['LOC', 'location'],
  ['GPE', 'location'],
  ['FAC', 'location'],
  ['PRODUCT', 'product'],
  ['PROD', 'product'],
])

/** Names are the model's; dates and amounts, which it does not know, are the grammar's. */
const entitiesOf = async (
  pipelines: Pipelines,
  document: Document,
  task: EntitiesTask,
): Promise<readonly Entity[]> => {
  const sentences = sentencesOf(document.text)
  const names: Entity[] = []
  for (const sentence of sentences) {
    const piece = document.text.slice(sentence.start, sentence.end)
    names.push(...namesIn(document.text, sentence, await pipelines.entities(piece)))
  }
  const isNumeric = ({ type }: Entity): boolean => type === 'date' || type === 'amount'
  const numbers = embedded.entities(document, task).filter(isNumeric)
  const taken = new Uint8Array(document.text.length)
  return [...names.filter(({ type }) => task.types.has(type)), ...numbers]
    .filter(({ start, end }) => {
      if (end <= start || taken.subarray(start, end).includes(1)) return false
      taken.fill(1, start, end)
      return true
    })
    .toSorted((a, b) => a.start - b.start)
}

interface Open {
  readonly type: EntityType
  readonly start: number
  end: number
  readonly scores: number[]
}

/** Pieces of words, put together and found in the text: where they stand is not theirs to say. */
const namesIn = (
  text: string,
  { start, end }: Pick<Sentence, 'start' | 'end'>,
  pieces: readonly Labelled[],
): readonly Entity[] => {
  const lower = text.slice(start, end).toLowerCase()
  const isSameLength = lower.length === end - start
  const within = isSameLength ? lower : text.slice(start, end)
  const open: Open[] = []
  let at = 0
  for (const { entity, score, word } of pieces) {
    const [, prefix = 'B', label = ''] = /^(?:([BIES])-)?(.+)$/.exec(entity) ?? []
    const type = TYPES.get(label.toUpperCase())
    const plain = word.replace(/^(?:##|▁|Ġ)/u, '')
    const found = within.indexOf(isSameLength ? plain.toLowerCase() : plain, at)
    if (plain === '' || found < 0) continue
    at = found + plain.length
    if (type === undefined) continue
    const last = open.at(-1)
    const goesOn = last?.type === type && found - (last.end - start) <= 1
    if (last && goesOn && (prefix !== 'B' || word.startsWith('##'))) {
      last.end = start + at
      last.scores.push(score)
    } else open.push({ type, start: start + found, end: start + at, scores: [score] })
  }
  return open.map((one) => ({
    text: text.slice(one.start, one.end),
    type: one.type,
    start: one.start,
    end: one.end,
    confidence: rounded(Math.min(...one.scores)),
  }))
}

/** Sentences and the whole by the model; what they speak of by the house's rules. */
const sentimentOf = async (pipelines: Pipelines, document: Document): Promise<Sentiment> => {
  const ruled = embedded.sentiment(document)
  const sentences: (SentenceSentiment & { readonly sure: number })[] = []
  for (const { start, end } of ruled.sentences) {
    const labels = await pipelines.sentiment(document.text.slice(start, end))
    sentences.push({ start, end, ...feelingOf(labels) })
  }
  const mean = (of: (one: (typeof sentences)[number]) => number): number =>
    rounded(sentences.reduce((sum, one) => sum + of(one), 0) / Math.max(1, sentences.length))
  const labels = new Set(sentences.map(({ label }) => label))
  const score = mean((one) => one.score)
  const isMixed = labels.has('positive') && labels.has('negative') && Math.abs(score) < 0.3
  return {
    ...ruled,
    overall: {
      label: isMixed ? 'mixed' : labelOf(score),
      score,
      confidence: mean((one) => one.sure),
      magnitude: rounded(sentences.reduce((sum, one) => sum + Math.abs(one.score), 0)),
    },
    sentences: sentences.map(({ start, end, label, score: own }) => ({
      start,
      end,
      label,
      score: own,
    })),
  }
}

const feelingOf = (labels: readonly { readonly label: string; readonly score: number }[]) => {
  const of = (word: RegExp): number => labels.find(({ label }) => word.test(label))?.score ?? 0
  const score = rounded(of(/^(?:pos|LABEL_2)/i) - of(/^(?:neg|LABEL_0)/i))
  return { score, label: labelOf(score), sure: Math.max(0, ...labels.map((one) => one.score)) }
}

const NEUTRAL_BAND = 0.2

const labelOf = (score: number): 'positive' | 'negative' | 'neutral' =>
  score >= NEUTRAL_BAND ? 'positive' : score <= -NEUTRAL_BAND ? 'negative' : 'neutral'
