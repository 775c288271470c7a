import { z } from 'zod'
import { errorOfStatus, type Model, ModelError, type Prompt } from './model.ts'
import type { ModelSettings } from './settings.ts'
import { type ModelDeps, retryAfterMs } from './transport.ts'

const Answer = z.object({
  message: z.object({ content: z.string() }),
  done_reason: z.string().optional(),
  prompt_eval_count: z.number().int().optional(),
  eval_count: z.number().int().optional(),
})

/** Model behind Ollama's native API, which enforces a schema by grammar. */
export const ollamaModel =
  (settings: ModelSettings, { post, apiKey }: ModelDeps): Model =>
  async (prompt, signal) => {
    const { status, headers, body } = await post(`${settings.url}/api/chat`, {
      headers: {
        'content-type': 'application/json',
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify(requestOf(settings, prompt)),
      signal,
    })
    if (status !== 200) throw errorOfStatus(status, retryAfterMs(headers))
    const parsed = Answer.safeParse(jsonOf(body))
    if (!parsed.success) throw new ModelError('transient', 'Ollama returned an invalid response')
    const {
      message,
      done_reason: reason,
      prompt_eval_count: input,
      eval_count: output,
    } = parsed.data
    return {
      text: message.content,
      finish: reason === 'length' ? 'length' : 'stop',
      ...(input !== undefined && output !== undefined && { tokens: { input, output } }),
    }
  }

const requestOf = (settings: ModelSettings, prompt: Prompt): unknown => {
  const { model, temperature, seed, context_tokens: context } = settings
  const { system, messages, output, schema, maxOutputTokens } = prompt
  return {
    model,
    messages: [
      { role: 'system', content: system },
      ...messages.map(({ role, text }) => ({ role, content: text })),
    ],
    ...(output !== 'text' && { format: output === 'json' ? 'json' : schema }),
    stream: false,
    options: {
      ...(temperature !== null && { temperature }),
      ...(seed !== null && { seed }),
      num_predict: maxOutputTokens,
      // Ollama's default is small, and it silently truncates what does not fit.
      num_ctx: context,
    },
  }
}

const jsonOf = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
