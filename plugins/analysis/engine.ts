import type { Format } from './format.ts'
import type { Language } from './language.ts'
import type { Span } from './tokens.ts'

/**
 * The seam between the service and what reads texts. An engine answers the four tasks; the
 * service checks inputs, tells languages, wraps answers and keeps time. Every span that an
 * engine gives is in UTF-16 units, `document.text.slice(start, end)` being what it names.
 * This one computes at once, in a thread of the pool; one that asks a model is a `RemoteEngine`.
 */
export interface Engine {
  readonly about: About
  readonly entities: (document: Document, task: EntitiesTask) => readonly Entity[]
  readonly classify: (document: Document, task: ClassifyTask) => Classification
  readonly sentiment: (document: Document) => Sentiment
  /** Throws `Refusal('unsupported_by_engine')` when it can fill in nothing of what is asked. */
  readonly analyze: (document: Document, task: AnalyzeTask) => Analysis
}

/** What an answer says about the engine that gave it. */
export interface About {
  readonly name: string
  readonly version: string
  readonly model: string
  readonly prompt_version: string | null
  /** Whether the same input always has the same answer. */
  readonly deterministic: boolean
  /** What a confidence is: a measured share of right answers, or what the model says of itself. */
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
  /** The measured share of right ones among those found alike, 0 to 1. */
  readonly confidence: number
  readonly value?: Readonly<Record<string, string | number | boolean>>
}

export interface EntitiesTask {
  readonly types: ReadonlySet<EntityType>
  /** `YYYY-MM-DD`: what `yesterday` is told from. */
  readonly referenceDate?: string
}

/** A label to choose from, with what the caller says about it. */
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
  /** All categories, the likeliest first; `index` is the place in the request. */
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
  /** The measured share of texts with such a score whose label is right. */
  readonly confidence: number
  /** Sum of the strengths of all sentences: grows with the text. */
  readonly magnitude: number
}

export interface SentenceSentiment extends Span {
  readonly label: SentimentLabel
  readonly score: number
}

export interface Evidence extends Span {
  readonly text: string
  readonly negated: boolean
}

/** What opinions are about, with all its mentions. */
export interface Aspect {
  readonly aspect: string
  readonly label: SentimentLabel
  readonly score: number
  readonly confidence: number
  readonly mentions: readonly Span[]
  readonly evidence: readonly Evidence[]
}

export interface Sentiment {
  readonly overall: Overall
  readonly sentences: readonly SentenceSentiment[]
  /** How many sentences the list leaves out. */
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
  /** JSON Pointers to what the engine could not fill in; null stands there. */
  readonly unresolved: readonly string[]
}

/** One call's task, by its kind. */
export type Task =
  | ({ readonly kind: 'entities' } & EntitiesTask)
  | ({ readonly kind: 'classify' } & ClassifyTask)
  | { readonly kind: 'sentiment' }
  | ({ readonly kind: 'analyze' } & AnalyzeTask)

/** What an engine found, with of its task what the form of the answer depends on. */
export type Found =
  | { readonly kind: 'entities'; readonly task: EntitiesTask; readonly value: readonly Entity[] }
  | { readonly kind: 'classify'; readonly task: ClassifyTask; readonly value: Classification }
  | { readonly kind: 'sentiment'; readonly value: Sentiment }
  | { readonly kind: 'analyze'; readonly value: Analysis }
