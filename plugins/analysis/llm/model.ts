import type { Json } from '../caller-schema.ts'

/** Output modes, the strictest first. If a server rejects one, the next is used. */
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
  /** Sent in the modes `schema` and `flat-schema`. */
  readonly schema: Json
  readonly maxOutputTokens: number
}

export interface Reply {
  readonly text: string
  /** `length`: cut off. `refused`: declined by the model or its provider's filter. */
  readonly finish: 'stop' | 'length' | 'refused'
  /** Omitted by servers that do not report usage. */
  readonly tokens?: { readonly input: number; readonly output: number }
}

/** Sends one request to a model, without retries. @throws ModelError */
export type Model = (prompt: Prompt, signal: AbortSignal) => Promise<Reply>

/** `transient` may succeed later, `format` is an unsupported mode, `denied` needs the operator. */
type ModelErrorKind = 'transient' | 'format' | 'denied' | 'timeout'

export class ModelError extends Error {
  override readonly name = 'ModelError'
  readonly kind: ModelErrorKind
  /** Delay requested by the server, in milliseconds. */
  readonly retryAfterMs: number | undefined
  constructor(kind: ModelErrorKind, message: string, retryAfterMs?: number, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
    this.retryAfterMs = retryAfterMs
  }
}

const TRANSIENT = new Set([408, 409, 425, 429])

/** Converts an error status to a `ModelError`. */
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
  return new ModelError(kind, `the model server returned ${status}`, retryAfterMs, cause)
}
