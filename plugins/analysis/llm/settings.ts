import { Refusal } from 'agenthub/plugin'
import { z } from 'zod'

const amount = z
  .number()
  .int()
  .min(0)
  .max(1e12)
  .transform((value) => BigInt(value))

const Model = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9.-]{0,39}$/, 'not 1 to 40 of a-z, 0-9, inner . and -'),
  dialect: z.enum(['openai-chat', 'openai-responses', 'anthropic', 'ollama']),
  /**
   * What the paths of the dialect follow: `https://api.openai.com/v1`, `http://127.0.0.1:11434`.
   */
  url: z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/\/+$/, '')),
  model: z.string().min(1).max(200),
  /** `NAME`: the key is in `HUB_SECRET_NAME`. */
  secret: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{0,59}$/, 'not a name such as OPENAI')
    .optional(),
  /** How its output is held to a schema; see `OUTPUTS`. */
  output: z.enum(['schema', 'flat-schema', 'json', 'text']).default('schema'),
  /** Null: not sent, for models that do not take it. */
  temperature: z.number().min(0).max(2).nullable().default(0),
  seed: z.number().int().nullable().default(7),
  max_output_tokens: z.number().int().min(256).max(200_000).default(8_192),
  /** Prompt and answer together. */
  context_tokens: z.number().int().min(2_048).max(10_000_000).default(32_768),
  /** Texts are cut into pieces of so many characters for entities and sentiment. */
  chunk_characters: z.number().int().min(1_000).max(60_000).default(10_000),
  /** For one request to the model, from the first byte to the last. */
  timeout_seconds: z.number().min(0.1).max(120).default(45),
  /** Requests at once, of each process of the hub. */
  concurrency: z.number().int().min(1).max(1_000).default(8),
  /** What a million tokens cost, in microdollars: 0 on a machine of the house's own. */
  input_price: amount,
  output_price: amount,
  /** Calls that would cost more go to the next engine. In microdollars. */
  max_cost: amount.optional(),
  /** The same for all calls of a UTC day, over all processes. */
  max_cost_per_day: amount.optional(),
})

const Onnx = z.strictObject({
  name: z.string().min(1).max(40).default('onnx'),
  dialect: z.literal('onnx'),
  folder: z.string().min(1),
  /** Folders below `folder`, by what their model does; tasks without one go to the next engine. */
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

/** The secret that names the engines; unset: the embedded one. */
export const ENGINES = 'ANALYSIS_ENGINES'
const VARIABLE = `HUB_SECRET_${ENGINES}`

/**
 * The engines that the operator configured, the preferred one first.
 * @throws Refusal `misconfigured` that names each mistake, and quotes no value
 */
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

/** Told to the operator, when the hub starts. */
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
