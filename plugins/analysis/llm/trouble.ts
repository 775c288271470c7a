/**
 * Why an engine did not answer. `unavailable`, `busy` and `timeout` may be over later; `bad_output`
 * is an answer that was not good enough to sell; `refused` is the model's own no; `over_budget` and
 * `unsupported` are calls that this engine is not for, and after `spent` none is until tomorrow.
 */
export type TroubleReason =
  | 'unavailable'
  | 'busy'
  | 'timeout'
  | 'bad_output'
  | 'refused'
  | 'over_budget'
  | 'spent'
  | 'unsupported'

export class Trouble extends Error {
  override readonly name = 'Trouble'
  readonly reason: TroubleReason
  /** How long the engine is best left alone, in milliseconds. */
  readonly restMs: number | undefined
  constructor(reason: TroubleReason, message: string, restMs?: number, cause?: unknown) {
    super(message, { cause })
    this.reason = reason
    this.restMs = restMs
  }
}
