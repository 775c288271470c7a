import { performance } from 'node:perf_hooks'
import { Refusal } from 'agenthub/plugin'
import type {
  Engine,
  EngineInfo,
  Entity,
  EntityType,
  Sentiment,
  Task,
  TaskResult,
  Warning,
} from './engine.ts'
import { isForeign, type Language } from './language.ts'
import { type ParsedRequest, type Request, readRequest } from './request.ts'
import { offsetsIn } from './text.ts'

export type Envelope = Readonly<Record<string, unknown>> & {
  readonly warnings: readonly Warning[]
}

/** Result of one call with an engine. */
export interface EngineResult {
  readonly found: TaskResult
  readonly about: EngineInfo
  /** True if the engine supports every language, not only English. */
  readonly readsAllLanguages: boolean
  readonly warnings: readonly Warning[]
  /** Undefined if no model was called. */
  readonly tokens?: { readonly input: number; readonly output: number }
}

/** @throws Refusal if the engine cannot serve the request */
export const answer = (engine: Engine, request: Request): Envelope => {
  const began = performance.now()
  const parsed = readRequest(request)
  assertEnglish(parsed.document.language)
  const found = runTask(engine, parsed)
  return envelopeOf(
    parsed,
    { found, about: engine.about, readsAllLanguages: false, warnings: [] },
    began,
  )
}

const LANGUAGE_NAMES = new Intl.DisplayNames('en', { type: 'language' })

/** @throws Refusal `language_not_supported` if the text is certainly not English */
const assertEnglish = (language: Language): void => {
  if (!isForeign(language)) return
  const { code, confidence } = language
  const name = code === 'mis' ? 'another language' : `${LANGUAGE_NAMES.of(code)} (${code})`
  const detail =
    `The text seems to be in ${name}; only English is supported. Translate it first. ` +
    'Names, numbers and mixed texts with at least a third of English are accepted.'
  throw new Refusal('language_not_supported', detail, {
    language: code,
    confidence,
    supported_languages: ['en'],
  })
}

const runTask = (engine: Engine, { document, task }: ParsedRequest): TaskResult => {
  switch (task.kind) {
    case 'entities':
      return { kind: task.kind, task, value: engine.entities(document, task) }
    case 'sentiment':
      return { kind: task.kind, value: engine.sentiment(document) }
    case 'classify':
      return { kind: task.kind, task, value: engine.classify(document, task) }
    case 'analyze':
      return { kind: task.kind, value: engine.analyze(document, task) }
  }
}

/** Wraps a result for the response; `began` is from `performance.now`. */
export const envelopeOf = (
  parsed: ParsedRequest,
  result: EngineResult,
  began: number,
): Envelope => {
  const { id, endpoint, rawText, document, unit, offset } = parsed
  const { text } = document
  const language = result.readsAllLanguages
    ? { ...document.language, supported: true }
    : document.language
  return {
    id,
    endpoint,
    language,
    input: {
      bytes: Buffer.byteLength(text),
      characters: offsetsIn(text, 'codepoint')(text.length),
      truncated: false,
    },
    offset_unit: unit,
    engine: result.about,
    warnings: [
      ...warningsOf(rawText, language),
      ...formatWarnings(parsed.task),
      ...result.warnings,
    ],
    usage: {
      input_tokens: result.tokens?.input ?? null,
      output_tokens: result.tokens?.output ?? null,
      latency_ms: Math.round(performance.now() - began),
    },
    result: resultOf(result.found, offset),
  }
}

const resultOf = (found: TaskResult, offset: ParsedRequest['offset']): unknown => {
  switch (found.kind) {
    case 'entities':
      return entitiesResult(found.value, found.task.types, offset)
    case 'sentiment':
      return sentimentResult(found.value, offset)
    case 'classify': {
      const { value, task } = found
      return { ...value, top: value.labels[0] ?? null, multi_label: task.multiLabel }
    }
    case 'analyze':
      return found.value
  }
}

const entitiesResult = (
  entities: readonly Entity[],
  types: ReadonlySet<EntityType>,
  offset: ParsedRequest['offset'],
): unknown => {
  const occurrences = new Map<string, number>()
  const keyOf = ({ type, text }: Entity): string => `${type} ${text}`
  for (const entity of entities)
    occurrences.set(keyOf(entity), (occurrences.get(keyOf(entity)) ?? 0) + 1)
  return {
    entities: entities.map((entity) => ({
      ...entity,
      start: offset(entity.start),
      end: offset(entity.end),
      count_in_text: occurrences.get(keyOf(entity)) ?? 1,
    })),
    counts: Object.fromEntries(
      [...types].map((type) => [type, entities.filter((entity) => entity.type === type).length]),
    ),
  }
}

const sentimentResult = (
  { sentences, aspects, ...rest }: Sentiment,
  offset: ParsedRequest['offset'],
): unknown => {
  const withOffsets = <T extends { start: number; end: number }>(span: T): T => ({
    ...span,
    start: offset(span.start),
    end: offset(span.end),
  })
  return {
    ...rest,
    sentences: sentences.map(withOffsets),
    aspects: aspects.map((aspect) => ({
      ...aspect,
      mentions: aspect.mentions.map(withOffsets),
      evidence: aspect.evidence.map(withOffsets),
    })),
  }
}

const warningsOf = (rawText: string, { supported }: Language): readonly Warning[] => {
  const warnings: Warning[] = []
  if (!rawText.isWellFormed()) {
    warnings.push({
      code: 'lone_surrogates_replaced',
      message: 'Lone surrogates were replaced with U+FFFD; offsets are unchanged.',
    })
  }
  if (supported) return warnings
  const message = 'The language could not be detected; this engine supports English.'
  return [...warnings, { code: 'language_unknown', message }]
}

const formatWarnings = (task: Task): readonly Warning[] => {
  if (task.kind !== 'analyze' || task.format.kind !== 'schema') return []
  const { ignored } = task.format
  if (ignored.length === 0) return []
  const message = `These parts of output_format were ignored: ${ignored.join(', ')}.`
  return [{ code: 'schema_keywords_ignored', message: message.slice(0, 500) }]
}
