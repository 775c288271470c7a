import type { LanguageModelV4, LanguageModelV4GenerateResult } from '@ai-sdk/provider'
import { errorOfStatus, type Model, ModelError, type Prompt, type Reply } from './model.ts'
import type { ModelSettings } from './settings.ts'
import { type ModelDeps, type Post, retryAfterMs } from './transport.ts'

/** The AI SDK only translates requests and responses; it is loaded on the first call. */
export const sdkModel = (settings: ModelSettings, deps: ModelDeps): Model => {
  let loadedModel: Promise<(prompt: Prompt) => LanguageModelV4> | undefined
  return async (prompt, signal) => {
    loadedModel ??= openModel(settings, deps)
    const model = (await loadedModel)(prompt)
    try {
      return replyOf(await model.doGenerate(optionsOf(settings, prompt, signal)))
    } catch (error) {
      signal.throwIfAborted()
      throw errorOf(error)
    }
  }
}

const openModel = async (settings: ModelSettings, { post, apiKey = 'none' }: ModelDeps) => {
  const { url: baseURL, model: id, dialect, name } = settings
  const options = { baseURL, apiKey, fetch: createFetch(post) }
  if (dialect === 'anthropic') {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    return () => createAnthropic(options)(id)
  }
  if (dialect === 'openai-responses') {
    const { createOpenAI } = await import('@ai-sdk/openai')
    return () => createOpenAI(options).responses(id)
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  return ({ output }: Prompt) =>
    createOpenAICompatible({
      ...options,
      name,
      // Otherwise the SDK drops the schema and requests any JSON.
      supportsStructuredOutputs: true,
      ...(output === 'flat-schema' && { transformRequestBody: flattenSchema }),
    })(id)
}

/** Moves the schema beside `type`, where llama.cpp expects it, instead of inside `json_schema`. */
const flattenSchema = (body: Record<string, unknown>): Record<string, unknown> => {
  const format = body['response_format'] as { json_schema?: { schema?: unknown } } | undefined
  const schema = format?.json_schema?.schema
  if (schema === undefined) return body
  return { ...body, response_format: { type: 'json_schema', schema } }
}

/** Implements the part of `fetch` that the providers use, on the injected HTTP client. */
const createFetch =
  (post: Post) =>
  async (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { status, headers, body } = await post(url instanceof Request ? url.url : String(url), {
      headers: Object.fromEntries(new Headers(init.headers)),
      body: typeof init.body === 'string' ? init.body : undefined,
      signal: init.signal ?? undefined,
    })
    const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' ? [[name, value]] : [],
    )
    return new Response(status === 204 ? null : new Uint8Array(body), { status, headers: pairs })
  }

const optionsOf = (settings: ModelSettings, prompt: Prompt, abortSignal: AbortSignal) => {
  const { temperature, seed, dialect } = settings
  const { system, messages, output, schema, maxOutputTokens } = prompt
  const isEnforced = output === 'schema' || output === 'flat-schema'
  return {
    prompt: [
      { role: 'system' as const, content: system },
      ...messages.map(({ role, text }) => ({ role, content: [{ type: 'text' as const, text }] })),
    ],
    maxOutputTokens,
    ...(temperature !== null && { temperature }),
    ...(seed !== null && dialect === 'openai-chat' && { seed }),
    ...(output !== 'text' && {
      responseFormat: { type: 'json' as const, ...(isEnforced && { schema, name: 'answer' }) },
    }),
    abortSignal,
  }
}

const FINISHES = new Map<string, Reply['finish']>([
  ['length', 'length'],
  ['content-filter', 'refused'],
])

const replyOf = ({ content, finishReason, usage }: LanguageModelV4GenerateResult): Reply => {
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
  const input = usage.inputTokens.total
  const output = usage.outputTokens.total
  return {
    text,
    finish: FINISHES.get(finishReason.unified) ?? 'stop',
    ...(input !== undefined && output !== undefined && { tokens: { input, output } }),
  }
}

/** Converts a provider's error by its status; a malformed success response is transient. */
const errorOf = (error: unknown): ModelError => {
  if (error instanceof ModelError) return error
  const { statusCode: status, responseHeaders: headers = {} } = error as {
    readonly statusCode?: number
    readonly responseHeaders?: Readonly<Record<string, string>>
  }
  if (status === undefined || (status >= 200 && status < 300)) {
    return new ModelError(
      'transient',
      'the model server returned an invalid response',
      undefined,
      error,
    )
  }
  return errorOfStatus(status, retryAfterMs(headers), error)
}
