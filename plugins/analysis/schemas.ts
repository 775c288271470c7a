import { type Infer, type Schema, s } from 'agenthub/plugin'
import { OFFSET_UNITS } from './text.ts'

const text = s.string({
  maxBytes: 51_200,
  description: 'The text, at most 50 KB of UTF-8.',
  examples: ['The delivery from Oslo was late, but Maria Silva was helpful.'],
})
const offset_unit = s.optional(
  s.oneOf(OFFSET_UNITS, { description: 'The unit of all offsets. Default codepoint.' }),
)
const reference_date = s.optional(
  s.string({ format: 'date', description: 'The day to which relative dates refer.' }),
)
const category = s.anyOf(
  s.string({ maxLength: 200, examples: ['delivery'] }),
  s.object({
    name: s.string({ maxLength: 200 }),
    description: s.optional(s.string({ maxBytes: 2_000 })),
    examples: s.optional(s.array(s.string({ maxBytes: 2_000 }), { maxItems: 50 })),
  }),
)

export const analyzeInput = s.object({
  text,
  instructions: s.string({
    minLength: 1,
    maxBytes: 4_096,
    description: 'What to analyze and how to structure the output.',
    examples: ['Give a one-line summary, the people, and the places.'],
  }),
  output_format: s.optional(
    s.anyOf(
      s.string({
        maxBytes: 16_384,
        description: 'A JSON Schema, an example, or words: JSON with keys a (string), b (number).',
      }),
      s.record(s.unknown()),
    ),
  ),
  offset_unit,
  reference_date,
})
export const classifyInput = s.object({
  text,
  categories: s.array(category, { maxItems: 200, description: 'Names, or described categories.' }),
  multi_label: s.optional(s.boolean({ description: 'True if several may apply. Default false.' })),
  allow_none: s.optional(s.boolean({ description: 'True if none may apply. Default false.' })),
  offset_unit,
})
export const entitiesInput = s.object({
  text,
  entity_types: s.optional(
    s.array(s.string({ maxLength: 50 }), {
      maxItems: 20,
      description: 'person, organization, location, date, amount, product. Default all.',
    }),
  ),
  offset_unit,
  reference_date,
})
export const sentimentInput = s.object({ text, offset_unit })

export type AnalyzeInput = Infer<typeof analyzeInput>
export type ClassifyInput = Infer<typeof classifyInput>
export type EntitiesInput = Infer<typeof entitiesInput>
export type SentimentInput = Infer<typeof sentimentInput>

const share = s.number({ minimum: 0, maximum: 1 })
const index = s.integer({ minimum: 0 })
const span = { start: index, end: index }

/** Response schema that all endpoints share, around their own result. */
const envelope = <T>(result: Schema<T>) =>
  s.object({
    id: s.string(),
    endpoint: s.string(),
    language: s.object({ code: s.string(), confidence: share, supported: s.boolean() }),
    input: s.object({ bytes: index, characters: index, truncated: s.boolean() }),
    offset_unit: s.oneOf(OFFSET_UNITS),
    engine: s.object({
      name: s.string(),
      version: s.string(),
      model: s.string(),
      prompt_version: s.nullable(s.string()),
      deterministic: s.boolean(),
      confidence_source: s.oneOf(['calibrated', 'model_self_report']),
    }),
    warnings: s.array(s.object({ code: s.string(), message: s.string() })),
    usage: s.object({
      input_tokens: s.nullable(index),
      output_tokens: s.nullable(index),
      latency_ms: s.number({ minimum: 0 }),
    }),
    result,
  })

const label = s.oneOf(['positive', 'negative', 'neutral', 'mixed'])
const score = s.number({ minimum: -1, maximum: 1 })

export const analyzeOutput = envelope(
  s.object({
    output: s.unknown({ description: 'In the requested format; null where unresolved.' }),
    schema: s.record(s.unknown()),
    unresolved: s.array(s.string({ description: 'A JSON Pointer into output.' })),
  }),
)
export const classifyOutput = envelope(
  s.object({
    categories: s.array(s.object({ name: s.string(), confidence: share, index })),
    labels: s.array(s.string()),
    top: s.nullable(s.string()),
    abstained: s.boolean(),
    multi_label: s.boolean(),
  }),
)
export const entitiesOutput = envelope(
  s.object({
    entities: s.array(
      s.object({
        text: s.string(),
        type: s.oneOf(['person', 'organization', 'location', 'date', 'amount', 'product']),
        subtype: s.optional(s.string()),
        ...span,
        confidence: share,
        value: s.optional(s.record(s.unknown())),
        count_in_text: s.integer({ minimum: 1 }),
      }),
    ),
    counts: s.record(index),
  }),
)
export const sentimentOutput = envelope(
  s.object({
    overall: s.object({ label, score, confidence: share, magnitude: s.number({ minimum: 0 }) }),
    sentences: s.array(s.object({ ...span, label, score })),
    sentences_omitted: index,
    aspects: s.array(
      s.object({
        aspect: s.string(),
        label,
        score,
        confidence: share,
        mentions: s.array(s.object(span)),
        evidence: s.array(s.object({ text: s.string(), ...span, negated: s.boolean() })),
      }),
    ),
  }),
)
