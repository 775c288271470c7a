import type { Document, EngineInfo, Task, TaskResult } from '../engine.ts'
import type { EngineResult } from '../envelope.ts'
import type { ParsedRequest } from '../request.ts'
import { sentencesOf } from '../text.ts'
import type { Span } from '../tokens.ts'
import { ANALYZE_VERSION, analyzeQuestion, isEmpty } from './analyze.ts'
import { askModel, type ModelResult, type ModelSession } from './ask-model.ts'
import { chunksOf } from './chunks.ts'
import { CLASSIFY_VERSION, choose, classifyQuestion, mergeScores } from './classify.ts'
import { ConcurrencyLimit } from './concurrency-limit.ts'
import { EngineError } from './engine-error.ts'
import { ENTITIES_VERSION, entitiesQuestion, mergeEntities } from './entities.ts'
import { injectionWarnings } from './injection.ts'
import type { Model } from './model.ts'
import { mergeSentiments, SENTIMENT_VERSION, sentimentQuestion } from './sentiment.ts'
import type { ModelSettings } from './settings.ts'
import type { Spending } from './spending.ts'

const VERSIONS: Readonly<Record<Task['kind'], string>> = {
  entities: ENTITIES_VERSION,
  classify: CLASSIFY_VERSION,
  sentiment: SENTIMENT_VERSION,
  analyze: ANALYZE_VERSION,
}

/** Engine that calls a model and verifies everything verifiable in its output. */
export interface RemoteEngine {
  /** `spending` includes failed requests. @throws EngineError, or the signal's reason */
  readonly answer: (
    parsed: ParsedRequest,
    spending: Spending,
    signal: AbortSignal,
  ) => Promise<EngineResult>
}

export const remoteEngine = (settings: ModelSettings, model: Model): RemoteEngine => {
  const gate = new ConcurrencyLimit(settings.concurrency)
  return {
    async answer({ document, task }, spending, signal) {
      const session = { settings, model, gate, spending, signal }
      const { value, dropped } = await runTask(document, task, session)
      return {
        found: value,
        about: engineInfoOf(settings, task),
        readsAllLanguages: true,
        warnings: [...droppedWarnings(dropped), ...injectionWarnings(document.text)],
        tokens: { input: spending.input, output: spending.output },
      }
    },
  }
}

const engineInfoOf = ({ name, model }: ModelSettings, { kind }: Task): EngineInfo => ({
  name,
  version: '1.0.0',
  model,
  prompt_version: VERSIONS[kind],
  deterministic: false,
  confidence_source: 'model_self_report',
})

const droppedWarnings = (dropped: number) =>
  dropped === 0
    ? []
    : [
        {
          code: 'ungrounded_dropped',
          message: `Dropped items named by the model that are not in the text: ${dropped}.`,
        },
      ]

const runTask = (
  document: Document,
  task: Task,
  session: ModelSession,
): Promise<ModelResult<TaskResult>> => {
  switch (task.kind) {
    case 'entities':
      return findEntities(document, task, session)
    case 'classify':
      return classify(document, task, session)
    case 'sentiment':
      return measureSentiment(document, session)
    case 'analyze':
      return analyze(document, task, session)
  }
}

type TaskOf<K extends Task['kind']> = Extract<Task, { readonly kind: K }>

const findEntities = async (
  { text }: Document,
  task: TaskOf<'entities'>,
  session: ModelSession,
): Promise<ModelResult<TaskResult>> => {
  const chunks = chunksOf(text, session.settings.chunk_characters)
  const pieces = await runAll(chunks, session, async ({ start, end }, own) => {
    const question = entitiesQuestion(text.slice(start, end), task)
    const { value, dropped } = await askModel(question, own)
    return { start, entities: value, dropped }
  })
  const value = mergeEntities(text, pieces)
  return { value: { kind: task.kind, task, value }, dropped: totalDropped(pieces) }
}

/** Share of the model's context that a chunk may use; longer texts are classified in chunks. */
const CONTEXT_SHARE = 0.5

const classify = async (
  { text }: Document,
  task: TaskOf<'classify'>,
  session: ModelSession,
): Promise<ModelResult<TaskResult>> => {
  const size = Math.floor(session.settings.context_tokens * CONTEXT_SHARE)
  const chunks = chunksOf(text, size)
  const pieces = await runAll(chunks, session, async ({ start, end }, own) => {
    const question = classifyQuestion(text.slice(start, end), task)
    const { value, dropped } = await askModel(question, own)
    return { length: end - start, scores: value, dropped }
  })
  const value = choose(mergeScores(pieces), task)
  return { value: { kind: task.kind, task, value }, dropped: totalDropped(pieces) }
}

const measureSentiment = async (
  { text }: Document,
  session: ModelSession,
): Promise<ModelResult<TaskResult>> => {
  const groups = groupSentences(sentencesOf(text), session.settings.chunk_characters)
  const pieces = await runAll(groups, session, (sentences, own) =>
    askModel(sentimentQuestion(text, sentences), own),
  )
  const value = mergeSentiments(pieces.map((one) => one.value))
  return { value: { kind: 'sentiment', value }, dropped: totalDropped(pieces) }
}

const analyze = async (
  { text }: Document,
  task: TaskOf<'analyze'>,
  session: ModelSession,
): Promise<ModelResult<TaskResult>> => {
  const { value, dropped } = await askModel(analyzeQuestion(text, task), session)
  if (isEmpty(value.output)) {
    throw new EngineError('unsupported', 'the text contains nothing that was requested')
  }
  return { value: { kind: task.kind, value }, dropped }
}

const totalDropped = (pieces: readonly { readonly dropped: number }[]): number =>
  pieces.reduce((sum, { dropped }) => sum + dropped, 0)

/** Groups consecutive sentences into groups of about `size` UTF-16 units. */
const groupSentences = (sentences: readonly Span[], size: number): readonly (readonly Span[])[] => {
  const groups: Span[][] = []
  for (const sentence of sentences) {
    const group = groups.at(-1)
    const start = group?.[0]?.start ?? 0
    if (group !== undefined && sentence.end - start <= size) group.push(sentence)
    else groups.push([sentence])
  }
  return groups
}

/** Processes all chunks concurrently; if one fails, aborts the others to stop their cost. */
const runAll = async <T, R>(
  pieces: readonly T[],
  { signal, spending, ...bench }: ModelSession,
  work: (piece: T, session: ModelSession) => Promise<R>,
): Promise<readonly R[]> => {
  const stop = new AbortController()
  const each = { ...bench, signal: AbortSignal.any([signal, stop.signal]) }
  try {
    return await Promise.all(
      pieces.map((piece) => work(piece, { ...each, spending: spending.share(pieces.length) })),
    )
  } finally {
    stop.abort()
  }
}
