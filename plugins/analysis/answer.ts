import { performance } from 'node:perf_hooks'
import type {
  About,
  Engine,
  Entity,
  EntityType,
  Found,
  Sentiment,
  Task,
  Warning,
} from './engine.ts'
import type { Language } from './language.ts'
import { type Asked, type Request, readRequest } from './request.ts'
import { offsetsIn } from './text.ts'

export type Envelope = Readonly<Record<string, unknown>> & {
  readonly warnings: readonly Warning[]
}

/** What an engine has to say of a call. */
export interface Told {
  readonly found: Found
  readonly about: About
  /** Whether it reads any language, not English alone. */
  readonly readsAll: boolean
  readonly warnings: readonly Warning[]
  /** Undefined where no model was asked. */
  readonly tokens?: { readonly input: number; readonly output: number }
}

/**
 * Answers one call with an engine that computes at once.
 * @throws Refusal for what the engine cannot serve
 */
export const answer = (engine: Engine, request: Request): Envelope => {
  const began = performance.now()
  const asked = readRequest(request)
  const found = foundBy(engine, asked)
  return envelopeOf(asked, { found, about: engine.about, readsAll: false, warnings: [] }, began)
}

const foundBy = (engine: Engine, { document, task }: Asked): Found => {
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

/**
 * The envelope that all endpoints share, around their own result.
 * @param began when the call did, by `performance.now`
 */
export const envelopeOf = (asked: Asked, told: Told, began: number): Envelope => {
  const { id, endpoint, given, document, unit, offset } = asked
  const { text } = document
  const language = told.readsAll ? { ...document.language, supported: true } : document.language
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
    engine: told.about,
    warnings: [...warningsOf(given, language), ...formatWarnings(asked.task), ...told.warnings],
    usage: {
      input_tokens: told.tokens?.input ?? null,
      output_tokens: told.tokens?.output ?? null,
      latency_ms: Math.round(performance.now() - began),
    },
    result: resultOf(told.found, offset),
  }
}

const resultOf = (found: Found, offset: Asked['offset']): unknown => {
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
  offset: Asked['offset'],
): unknown => {
  const seen = new Map<string, number>()
  const keyOf = ({ type, text }: Entity): string => `${type} ${text}`
  for (const entity of entities) seen.set(keyOf(entity), (seen.get(keyOf(entity)) ?? 0) + 1)
  return {
    entities: entities.map((entity) => ({
      ...entity,
      start: offset(entity.start),
      end: offset(entity.end),
      count_in_text: seen.get(keyOf(entity)) ?? 1,
    })),
    counts: Object.fromEntries(
      [...types].map((type) => [type, entities.filter((entity) => entity.type === type).length]),
    ),
  }
}

const sentimentResult = (
  { sentences, aspects, ...rest }: Sentiment,
  offset: Asked['offset'],
): unknown => {
  const moved = <T extends { start: number; end: number }>(span: T): T => ({
    ...span,
    start: offset(span.start),
    end: offset(span.end),
  })
  return {
    ...rest,
    sentences: sentences.map(moved),
    aspects: aspects.map((aspect) => ({
      ...aspect,
      mentions: aspect.mentions.map(moved),
      evidence: aspect.evidence.map(moved),
    })),
  }
}

const warningsOf = (given: string, { code, supported }: Language): readonly Warning[] => {
  const warnings: Warning[] = []
  if (!given.isWellFormed()) {
    warnings.push({
      code: 'lone_surrogates_replaced',
      message: 'Lone surrogates were replaced by U+FFFD; no offset moved.',
    })
  }
  if (supported) return warnings
  if (code === 'und') {
    const message = 'The language could not be told; this engine reads English.'
    return [...warnings, { code: 'language_unknown', message }]
  }
  const message =
    `The text seems to be in '${code}'; this engine reads English. Of entities, only dates and ` +
    'amounts are given.'
  return [...warnings, { code: 'language_unsupported', message }]
}

const formatWarnings = (task: Task): readonly Warning[] => {
  if (task.kind !== 'analyze' || task.format.kind !== 'schema') return []
  const { ignored } = task.format
  if (ignored.length === 0) return []
  const message = `The output was not held to these parts of output_format: ${ignored.join(', ')}.`
  return [{ code: 'schema_keywords_ignored', message: message.slice(0, 500) }]
}
