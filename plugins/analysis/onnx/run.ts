import { embedded } from '../embedded.ts'
import type {
  Document,
  EngineInfo,
  EntitiesTask,
  Entity,
  EntityType,
  SentenceSentiment,
  Sentiment,
  Task,
  TaskResult,
} from '../engine.ts'
import type { EngineResult } from '../envelope.ts'
import { choose } from '../llm/classify.ts'
import { EngineError } from '../llm/engine-error.ts'
import { roundToThousandths } from '../llm/question.ts'
import type { OnnxSettings } from '../llm/settings.ts'
import { withoutOverlaps } from '../overlaps.ts'
import type { ParsedRequest } from '../request.ts'
import { type Sentence, sentencesOf } from '../text.ts'
import type { LabeledToken, Pipelines } from './pipelines.ts'

/** Performs a task with ONNX models; the embedded rules add what the models do not provide. */
export const runOnnx = async (
  pipelines: Pipelines,
  settings: OnnxSettings,
  { document, task }: ParsedRequest,
): Promise<EngineResult> => ({
  found: await runTask(pipelines, document, task),
  about: engineInfoOf(settings, task),
  readsAllLanguages: true,
  warnings: [],
})

const engineInfoOf = (settings: OnnxSettings, { kind }: Task): EngineInfo => ({
  name: settings.name,
  version: '1.0.0',
  model: (kind === 'analyze' ? undefined : settings[kind]) ?? 'none',
  prompt_version: null,
  deterministic: true,
  confidence_source: 'model_self_report',
})

const runTask = async (
  pipelines: Pipelines,
  document: Document,
  task: Task,
): Promise<TaskResult> => {
  switch (task.kind) {
    case 'entities':
      return { kind: task.kind, task, value: await entitiesOf(pipelines, document, task) }
    case 'sentiment':
      return { kind: task.kind, value: await sentimentOf(pipelines, document) }
    case 'classify': {
      const labels = task.categories.map(({ name, description }) =>
        description === undefined ? name : `${name}: ${description}`,
      )
      const output = await pipelines.classify(document.text, labels, task.multiLabel)
      const byLabel = new Map(output.labels.map((label, rank) => [label, output.scores[rank] ?? 0]))
      const scores = labels.map((label) => byLabel.get(label) ?? 0)
      return { kind: task.kind, task, value: choose(scores, task) }
    }
    case 'analyze':
      throw new EngineError('unsupported', 'ONNX models cannot fill formats')
  }
}

/** Entity types by the labels of common training corpora. */
const TYPE_BY_LABEL = new Map<string, EntityType>([
  ['PER', 'person'],
  ['PERSON', 'person'],
  ['ORG', 'organization'],
  ['LOC', 'location'],
  ['GPE', 'location'],
  ['FAC', 'location'],
  ['PRODUCT', 'product'],
  ['PROD', 'product'],
])

/** Names from the model; dates and amounts, which it does not detect, from the embedded grammar. */
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
  return withoutOverlaps(
    [...names.filter(({ type }) => task.types.has(type)), ...numbers],
    document.text.length,
  )
}

interface OpenName {
  readonly type: EntityType
  readonly start: number
  end: number
  readonly scores: number[]
}

/** Joins word pieces to names and locates them in the text, because the model gives no offsets. */
const namesIn = (
  text: string,
  { start, end }: Pick<Sentence, 'start' | 'end'>,
  pieces: readonly LabeledToken[],
): readonly Entity[] => {
  const lower = text.slice(start, end).toLowerCase()
  const isSameLength = lower.length === end - start
  const haystack = isSameLength ? lower : text.slice(start, end)
  const names: OpenName[] = []
  let at = 0
  for (const { entity, score, word } of pieces) {
    const [, prefix = 'B', label = ''] = /^(?:([BIES])-)?(.+)$/.exec(entity) ?? []
    const type = TYPE_BY_LABEL.get(label.toUpperCase())
    const plain = word.replace(/^(?:##|▁|Ġ)/u, '')
    const found = haystack.indexOf(isSameLength ? plain.toLowerCase() : plain, at)
    if (plain === '' || found < 0) continue
    at = found + plain.length
    if (type === undefined) continue
    const last = names.at(-1)
    const isAdjacent = last?.type === type && found - (last.end - start) <= 1
    if (last && isAdjacent && (prefix !== 'B' || word.startsWith('##'))) {
      last.end = start + at
      last.scores.push(score)
    } else names.push({ type, start: start + found, end: start + at, scores: [score] })
  }
  return names.map((one) => ({
    text: text.slice(one.start, one.end),
    type: one.type,
    start: one.start,
    end: one.end,
    confidence: roundToThousandths(Math.min(...one.scores)),
  }))
}

/** Sentences and overall sentiment from the model; aspects from the embedded rules. */
const sentimentOf = async (pipelines: Pipelines, document: Document): Promise<Sentiment> => {
  const byRules = embedded.sentiment(document)
  const sentences: (SentenceSentiment & { readonly confidence: number })[] = []
  for (const { start, end } of byRules.sentences) {
    const labels = await pipelines.sentiment(document.text.slice(start, end))
    sentences.push({ start, end, ...scoreOf(labels) })
  }
  const mean = (of: (one: (typeof sentences)[number]) => number): number =>
    roundToThousandths(
      sentences.reduce((sum, one) => sum + of(one), 0) / Math.max(1, sentences.length),
    )
  const labels = new Set(sentences.map(({ label }) => label))
  const score = mean((one) => one.score)
  const isMixed = labels.has('positive') && labels.has('negative') && Math.abs(score) < 0.3
  return {
    ...byRules,
    overall: {
      label: isMixed ? 'mixed' : labelOf(score),
      score,
      confidence: mean((one) => one.confidence),
      magnitude: roundToThousandths(sentences.reduce((sum, one) => sum + Math.abs(one.score), 0)),
    },
    sentences: sentences.map(({ start, end, label, score }) => ({
      start,
      end,
      label,
      score,
    })),
  }
}

const scoreOf = (labels: readonly { readonly label: string; readonly score: number }[]) => {
  const of = (word: RegExp): number => labels.find(({ label }) => word.test(label))?.score ?? 0
  const score = roundToThousandths(of(/^(?:pos|LABEL_2)/i) - of(/^(?:neg|LABEL_0)/i))
  return {
    score,
    label: labelOf(score),
    confidence: Math.max(0, ...labels.map((one) => one.score)),
  }
}

const NEUTRAL_BAND = 0.2

const labelOf = (score: number): 'positive' | 'negative' | 'neutral' =>
  score >= NEUTRAL_BAND ? 'positive' : score <= -NEUTRAL_BAND ? 'negative' : 'neutral'
