import { Refusal } from 'agenthub/plugin'
import { z } from 'zod'

const microdollars = z
  .number()
  .int()
  .min(0)
  .max(1e12)
  .transform((value) => BigInt(value))

const Model = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9.-]{0,39}$/, 'not 1 to 40 of a-z, 0-9, inner . and -'),
  dialect: z.enum(['openai-chat', 'openai-responses', 'anthropic', 'ollama']),
  /** Base URL of the API: `https://api.openai.com/v1`, `http://127.0.0.1:11434`. */
  url: z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/(?<!\/)\/+$/, '')),
  model: z.string().min(1).max(200),
  /** Name of the API key: `NAME` reads `HUB_SECRET_NAME`. */
  secret: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{0,59}$/, 'not a name such as OPENAI')
    .optional(),
  /** Output mode; see `OUTPUTS`. */
  output: z.enum(['schema', 'flat-schema', 'json', 'text']).default('schema'),
  /** Null is not sent, for models without this parameter. */
  temperature: z.number().min(0).max(2).nullable().default(0),
  seed: z.number().int().nullable().default(7),
  max_output_tokens: z.number().int().min(256).max(200_000).default(8_192),
  /** Tokens of prompt and output together. */
  context_tokens: z.number().int().min(2_048).max(10_000_000).default(32_768),
  /** Maximum characters per chunk for entities and sentiment. */
  chunk_characters: z.number().int().min(1_000).max(60_000).default(10_000),
  /** Total time of one request to the model. */
  timeout_seconds: z.number().min(0.1).max(120).default(45),
  /** Concurrent requests per process. */
  concurrency: z.number().int().min(1).max(1_000).default(8),
  /** Price of a million tokens in microdollars; 0 for self-hosted models. */
  input_price: microdollars,
  output_price: microdollars,
  /** Maximum cost of a call in microdollars; more expensive calls go to the next engine. */
  max_cost: microdollars.optional(),
  /** Maximum cost of all calls per UTC day across all processes, in microdollars. */
  max_cost_per_day: microdollars.optional(),
})

const Onnx = z.strictObject({
  name: z.string().min(1).max(40).default('onnx'),
  dialect: z.literal('onnx'),
  folder: z.string().min(1),
  /** Subfolders of `folder` by task; tasks without one go to the next engine. */
  entities: z.string().min(1).optional(),
  sentiment: z.string().min(1).optional(),
  classify: z.string().min(1).optional(),
})

const Embedded = z.strictObject({ dialect: z.literal('embedded') })

const Engines = z
  .array(z.discriminatedUnion('dialect', [Model, Onnx, Embedded]))
  .min(1)
  .max(8)

export type ModelSettings = z.infer<typeof Model>
export type OnnxSettings = z.infer<typeof Onnx>
export type EngineSettings = z.infer<typeof Engines>[number]

/** Secret with the engine configuration; if unset, the embedded engine is used. */
export const ENGINES_SECRET = 'ANALYSIS_ENGINES'
const VARIABLE = `HUB_SECRET_${ENGINES_SECRET}`

/** The preferred engine is first. @throws Refusal `misconfigured` that quotes no values */
export const readEngines = (text: string | undefined): readonly EngineSettings[] => {
  if (text === undefined) return [{ dialect: 'embedded' }]
  const parsed = Engines.safeParse(jsonOf(text))
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    throw misconfigured(`${VARIABLE}: ${issues.join('; ')}`)
  }
  const names = parsed.data.map(nameOf)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw misconfigured(`${VARIABLE}: two engines are called '${twice}'`)
  return parsed.data
}

/** Configuration error, shown to the operator at startup. */
export const misconfigured = (what: string): Refusal => new Refusal('misconfigured', what)

export const nameOf = (engine: EngineSettings): string =>
  engine.dialect === 'embedded' ? 'embedded' : engine.name

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw misconfigured(`${VARIABLE}: not JSON; see plugins/analysis/llm/README.md`)
  }
}
