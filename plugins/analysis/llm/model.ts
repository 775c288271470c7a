import type { Json } from '../caller-schema.ts'

/**
 * How a model is held to JSON, the strictest first: by a schema, by a schema as llama.cpp spells
 * it, to any JSON, or by asking nicely. A model that refuses one is asked by the next.
 */
export const OUTPUTS = ['schema', 'flat-schema', 'json', 'text'] as const
export type Output = (typeof OUTPUTS)[number]

export interface Message {
  readonly role: 'user' | 'assistant'
  readonly text: string
}

export interface Prompt {
  readonly system: string
  readonly messages: readonly Message[]
  readonly output: Output
  /** Sent for `schema` and `flat-schema`. */
  readonly schema: Json
  readonly maxOutputTokens: number
}

export interface Reply {
  readonly text: string
  /** `length`: cut off. `refused`: the model, or its maker's filter, does not want to. */
  readonly finish: 'stop' | 'length' | 'refused'
  /** Left out by servers that do not count. */
  readonly tokens?: { readonly input: number; readonly output: number }
}

/** One request to a model, once. @throws ModelError */
export type Model = (prompt: Prompt, signal: AbortSignal) => Promise<Reply>

/**
 * Why a request came to nothing: `transient` may pass by itself, `format` is a form of output that
 * the model does not know, `denied` will not change until the operator does something.
 */
type ModelErrorKind = 'transient' | 'format' | 'denied' | 'timeout'

export class ModelError extends Error {
  override readonly name = 'ModelError'
  readonly kind: ModelErrorKind
  /** What the server asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined
  constructor(kind: ModelErrorKind, message: string, retryAfterMs?: number, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
    this.retryAfterMs = retryAfterMs
  }
}

const TRANSIENT = new Set([408, 409, 425, 429])

/** What a status that is no success means. */
export const errorOfStatus = (
  status: number,
  retryAfterMs: number | undefined,
  cause?: unknown,
): ModelError => {
  const kind =
    TRANSIENT.has(status) || status >= 500
      ? 'transient'
      : status === 400 || status === 422
        ? 'format'
        : 'denied'
  return new ModelError(kind, `the model server answered ${status}`, retryAfterMs, cause)
}
