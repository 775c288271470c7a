import type { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Schema } from '../../core/plugin/schema.ts'
import type { RateState } from '../../core/usage/rate-limit.ts'
import type { Trace } from '../observability/trace.ts'

/** What a tool is given beside its arguments. */
export interface ToolContext {
  readonly caller: Caller
  readonly rate: RateState
  readonly authorization: string
  /** The caller's network address. */
  readonly address: () => string
  readonly requestId: string
  readonly trace: Trace
  /** `_meta` of the request. */
  readonly meta: JsonObject
  /** What the client declares that it can do; nothing in a legacy request, which does not say. */
  readonly capabilities: JsonObject
  /** Aborts when a modern client has gone, which is how it cancels. */
  readonly signal: AbortSignal
  /** Tells a client that asked for it how far the work is. `done` must grow. */
  readonly progress: (done: number, total: number, message: string) => void
  /** What went wrong, as a fault. The operator is told of failures of the hub itself. */
  readonly reported: (error: unknown) => Fault
}

/** The result of `tools/call`. */
export interface ToolResult {
  readonly content: readonly JsonObject[]
  readonly structuredContent?: object
  readonly isError?: boolean
  readonly _meta?: JsonObject
}

export interface Tool<Args> {
  readonly name: string
  readonly title: string
  /** What, when, what it costs, what comes before and after. At most 600 characters. */
  readonly description: string
  /** Hints by which clients ask for approval; their defaults are the dangerous ones. */
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
  readonly input: Schema<Args>
  /**
   * A plain object schema without required fields: some clients check errors and x402 offers
   * against it too, and would hide them from the agent.
   */
  readonly output?: JsonObject
  readonly run: (args: Args, context: ToolContext) => Promise<ToolResult>
}

/** A tool whose arguments are forgotten, as the door holds it. */
export type AnyTool = Tool<unknown>

/** Declares a tool. The type of the arguments follows from `input`. */
export const tool = <Args>(spec: Tool<Args>): AnyTool => spec as unknown as AnyTool

/** Reads, and changes nothing. */
export const READS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const

/** Spends money, and destroys nothing; reaches beyond the hub. */
export const PAYS = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: true,
} as const
