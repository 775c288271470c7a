/**
 * Reason of an engine's failure. `unavailable`, `busy` and `timeout` are temporary; `bad_output` is
 * invalid model output; `refused` is a refusal by the model; `over_budget` and `unsupported`
 * concern this call only; `spent` lasts until the next UTC day.
 */
export type EngineErrorReason =
  | 'unavailable'
  | 'busy'
  | 'timeout'
  | 'bad_output'
  | 'refused'
  | 'over_budget'
  | 'spent'
  | 'unsupported'

export class EngineError extends Error {
  override readonly name = 'Trouble'
  readonly reason: EngineErrorReason
  /** Delay before the engine should be tried again, in milliseconds. */
  readonly retryAfterMs: number | undefined
  constructor(reason: EngineErrorReason, message: string, retryAfterMs?: number, cause?: unknown) {
    super(message, { cause })
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}
