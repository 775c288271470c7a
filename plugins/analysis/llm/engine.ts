import type { Told } from '../answer.ts'
import type { About, Document, Found, Task } from '../engine.ts'
import type { Asked } from '../request.ts'
import { sentencesOf } from '../text.ts'
import type { Span } from '../tokens.ts'
import { ANALYZE_VERSION, analyzeQuestion, isEmpty } from './analyze.ts'
import { chunksOf } from './chunks.ts'
import { CLASSIFY_VERSION, choose, classifyQuestion, mergeScores } from './classify.ts'
import { converse, type Desk, type Understood } from './converse.ts'
import { ENTITIES_VERSION, entitiesQuestion, mergeEntities } from './entities.ts'
import { Gate } from './gate.ts'
import { injectionWarnings } from './injection.ts'
import type { Model } from './model.ts'
import { mergeFelt, SENTIMENT_VERSION, sentimentQuestion } from './sentiment.ts'
import type { ModelSettings } from './settings.ts'
import type { Spending } from './spending.ts'
import { Trouble } from './trouble.ts'

const VERSIONS: Readonly<Record<Task['kind'], string>> = {
  entities: ENTITIES_VERSION,
  classify: CLASSIFY_VERSION,
  sentiment: SENTIMENT_VERSION,
  analyze: ANALYZE_VERSION,
}

/** An engine that asks a model, and takes its word for nothing that can be checked. */
export interface RemoteEngine {
  /**
   * @param spending takes what it costs, also of what comes to nothing
   * @throws Trouble, or the signal's reason
   */
  readonly answer: (asked: Asked, spending: Spending, signal: AbortSignal) => Promise<Told>
}

export const remoteEngine = (settings: ModelSettings, model: Model): RemoteEngine => {
  const gate = new Gate(settings.concurrency)
  return {
    async answer({ document, task }, spending, signal) {
      const desk = { settings, model, gate, spending, signal }
      const { value, dropped } = await foundBy(document, task, desk)
      return {
        found: value,
        about: aboutOf(settings, task),
        readsAll: true,
        warnings: [...droppedWarnings(dropped), ...injectionWarnings(document.text)],
        tokens: { input: spending.input, output: spending.output },
      }
    },
  }
}

const aboutOf = ({ name, model }: ModelSettings, { kind }: Task): About => ({
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
          message: `${dropped} of what the model named is not in the text.`,
        },
      ]

const foundBy = (document: Document, task: Task, desk: Desk): Promise<Understood<Found>> => {
  switch (task.kind) {
    case 'entities':
      return findEntities(document, task, desk)
    case 'classify':
      return classify(document, task, desk)
    case 'sentiment':
      return feel(document, desk)
    case 'analyze':
      return analyze(document, task, desk)
  }
}

type Of<K extends Task['kind']> = Extract<Task, { readonly kind: K }>

const findEntities = async (
  { text }: Document,
  task: Of<'entities'>,
  desk: Desk,
): Promise<Understood<Found>> => {
  const chunks = chunksOf(text, desk.settings.chunk_characters)
  const pieces = await together(chunks, desk, async ({ start, end }, own) => {
    const question = entitiesQuestion(text.slice(start, end), task)
    const { value, dropped } = await converse(question, own)
    return { start, entities: value, dropped }
  })
  const value = mergeEntities(text, pieces)
  return { value: { kind: task.kind, task, value }, dropped: droppedIn(pieces) }
}

/** What does not fit into the model's context is sorted piece by piece. */
const CONTEXT_FOR_TEXT = 0.5

const classify = async (
  { text }: Document,
  task: Of<'classify'>,
  desk: Desk,
): Promise<Understood<Found>> => {
  const size = Math.floor(desk.settings.context_tokens * CONTEXT_FOR_TEXT)
  const chunks = chunksOf(text, size)
  const pieces = await together(chunks, desk, async ({ start, end }, own) => {
    const question = classifyQuestion(text.slice(start, end), task)
    const { value, dropped } = await converse(question, own)
    return { length: end - start, scores: value, dropped }
  })
  const value = choose(mergeScores(pieces), task)
  return { value: { kind: task.kind, task, value }, dropped: droppedIn(pieces) }
}

const feel = async ({ text }: Document, desk: Desk): Promise<Understood<Found>> => {
  const groups = grouped(sentencesOf(text), desk.settings.chunk_characters)
  const pieces = await together(groups, desk, (sentences, own) =>
    converse(sentimentQuestion(text, sentences), own),
  )
  const value = mergeFelt(pieces.map((one) => one.value))
  return { value: { kind: 'sentiment', value }, dropped: droppedIn(pieces) }
}

const analyze = async (
  { text }: Document,
  task: Of<'analyze'>,
  desk: Desk,
): Promise<Understood<Found>> => {
  const { value, dropped } = await converse(analyzeQuestion(text, task), desk)
  if (isEmpty(value.output)) {
    throw new Trouble('unsupported', 'the text says nothing of what was asked for')
  }
  return { value: { kind: task.kind, value }, dropped }
}

const droppedIn = (pieces: readonly { readonly dropped: number }[]): number =>
  pieces.reduce((sum, { dropped }) => sum + dropped, 0)

/** Sentences that follow each other, of about `size` UTF-16 units together. */
const grouped = (sentences: readonly Span[], size: number): readonly (readonly Span[])[] => {
  const groups: Span[][] = []
  for (const sentence of sentences) {
    const group = groups.at(-1)
    const start = group?.[0]?.start ?? 0
    if (group !== undefined && sentence.end - start <= size) group.push(sentence)
    else groups.push([sentence])
  }
  return groups
}

/** Works on all pieces at once; when one fails, the others are not paid for any longer. */
const together = async <T, R>(
  pieces: readonly T[],
  { signal, spending, ...bench }: Desk,
  work: (piece: T, desk: Desk) => Promise<R>,
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
