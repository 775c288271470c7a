import type { Format } from './format.ts'
import type { Language } from './language.ts'
import type { Span } from './tokens.ts'

/**
 * Interface between the service and the code that reads texts. An engine performs the four tasks;
 * the service validates inputs, detects languages, wraps results and enforces deadlines. Spans are
 * in UTF-16 units: `document.text.slice(start, end)` is the named text. An `Engine` is synchronous
 * and runs in a pool thread; an engine that calls a model is a `RemoteEngine`.
 */
export interface Engine {
  readonly about: EngineInfo
  readonly entities: (document: Document, task: EntitiesTask) => readonly Entity[]
  readonly classify: (document: Document, task: ClassifyTask) => Classification
  readonly sentiment: (document: Document) => Sentiment
  /** @throws Refusal `unsupported_by_engine` if no requested field can be filled in */
  readonly analyze: (document: Document, task: AnalyzeTask) => Analysis
}

/** Engine description in a response. */
export interface EngineInfo {
  readonly name: string
  readonly version: string
  readonly model: string
  readonly prompt_version: string | null
  /** True if the same input always produces the same output. */
  readonly deterministic: boolean
  /** Measured share of correct results, or the model's own estimate. */
  readonly confidence_source: 'calibrated' | 'model_self_report'
}

export interface Warning {
  /** Stable, snake_case. */
  readonly code: string
  readonly message: string
}

export interface Document {
  /** Well formed: no lone surrogates. */
  readonly text: string
  readonly language: Language
}

export const ENTITY_TYPES = [
  'person',
  'organization',
  'location',
  'date',
  'amount',
  'product',
] as const
export type EntityType = (typeof ENTITY_TYPES)[number]

export interface Entity extends Span {
  readonly text: string
  readonly type: EntityType
  readonly subtype?: string
  /** Measured share of correct entities among similar ones, 0 to 1. */
  readonly confidence: number
  readonly value?: Readonly<Record<string, string | number | boolean>>
}

export interface EntitiesTask {
  readonly types: ReadonlySet<EntityType>
  /** `YYYY-MM-DD`, the day to which relative dates such as `yesterday` refer. */
  readonly referenceDate?: string
}

/** A label to choose from, with the caller's description. */
export interface Category {
  readonly name: string
  readonly description?: string
  readonly examples?: readonly string[]
}

export interface ClassifyTask {
  readonly categories: readonly Category[]
  readonly multiLabel: boolean
  readonly allowNone: boolean
}

export interface Classification {
  /** All categories by descending confidence; `index` is the position in the request. */
  readonly categories: readonly {
    readonly name: string
    readonly confidence: number
    readonly index: number
  }[]
  readonly labels: readonly string[]
  readonly abstained: boolean
}

export type SentimentLabel = 'positive' | 'negative' | 'neutral' | 'mixed'

export interface Overall {
  readonly label: SentimentLabel
  /** -1 to 1. */
  readonly score: number
  /** Measured share of texts with this score whose label is correct. */
  readonly confidence: number
  /** Sum of the absolute scores of all sentences: grows with the text. */
  readonly magnitude: number
}

export interface SentenceSentiment extends Span {
  readonly label: SentimentLabel
  readonly score: number
}

export interface OpinionEvidence extends Span {
  readonly text: string
  readonly negated: boolean
}

/** The subject of opinions, with all its mentions. */
export interface Aspect {
  readonly aspect: string
  readonly label: SentimentLabel
  readonly score: number
  readonly confidence: number
  readonly mentions: readonly Span[]
  readonly evidence: readonly OpinionEvidence[]
}

export interface Sentiment {
  readonly overall: Overall
  readonly sentences: readonly SentenceSentiment[]
  /** Number of sentences that the list omits. */
  readonly sentences_omitted: number
  readonly aspects: readonly Aspect[]
}

export interface AnalyzeTask {
  readonly instructions: string
  readonly format: Format
  readonly referenceDate?: string
  /** Turns a UTF-16 index into the caller's unit, for offsets inside the output. */
  readonly offset: (index: number) => number
}

export interface Analysis {
  readonly output: unknown
  /** The JSON Schema that `output` satisfies. */
  readonly schema: Readonly<Record<string, unknown>>
  /** JSON Pointers to fields that could not be filled in and are null. */
  readonly unresolved: readonly string[]
}

/** One call's task, by its kind. */
export type Task =
  | ({ readonly kind: 'entities' } & EntitiesTask)
  | ({ readonly kind: 'classify' } & ClassifyTask)
  | { readonly kind: 'sentiment' }
  | ({ readonly kind: 'analyze' } & AnalyzeTask)

/** Result of a task, with the parts of the task that shape the response. */
export type TaskResult =
  | { readonly kind: 'entities'; readonly task: EntitiesTask; readonly value: readonly Entity[] }
  | { readonly kind: 'classify'; readonly task: ClassifyTask; readonly value: Classification }
  | { readonly kind: 'sentiment'; readonly value: Sentiment }
  | { readonly kind: 'analyze'; readonly value: Analysis }
