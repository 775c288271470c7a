import type { SignedMessage } from '../../core/agents/agent-verifier.ts'
import type { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Schema } from '../../core/plugin/schema.ts'
import type { RateState } from '../../core/usage/rate-limit.ts'
import type { Trace } from '../observability/trace.ts'

export interface ToolContext {
  readonly caller: Caller
  readonly rate: RateState
  readonly authorization: string
  readonly address: () => string
  /** Returns the URL of the MCP endpoint. */
  readonly endpointUrl: () => string
  /** The HTTP request, if an agent has signed it. */
  readonly signedMessage: SignedMessage | undefined
  /** Sets headers of the response, unless it has begun. */
  readonly addHeaders: (headers: Readonly<Record<string, string>>) => void
  readonly requestId: string
  readonly trace: Trace
  readonly meta: JsonObject
  /** Capabilities of a modern client; empty for a legacy client, which does not declare them. */
  readonly capabilities: JsonObject
  /** Aborts when a modern client disconnects, which cancels the request. */
  readonly signal: AbortSignal
  /** Reports progress to a client that requested it. `done` must increase. */
  readonly progress: (done: number, total: number, message: string) => void
  /** Counts a response that is being made. Returns false if there is no memory for it. */
  readonly reserveMemory: (bytes: number) => boolean
  /** Converts an error to a fault, and logs failures of the hub itself. */
  readonly reportFault: (error: unknown) => Fault
}

export interface ToolResult {
  readonly content: readonly JsonObject[]
  readonly structuredContent?: object
  readonly isError?: boolean
  readonly _meta?: JsonObject
}

export interface Tool<Args> {
  readonly name: string
  readonly title: string
  /** Purpose, price, and the tools to use before and after it. At most 600 characters. */
  readonly description: string
  /** Hints by which clients ask for approval. Omitted ones mean the dangerous case. */
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
  readonly input: Schema<Args>
  /** Without required members: some clients validate errors against it and would hide them. */
  readonly output?: JsonObject
  /** Returns `_meta` of the tool in lists. */
  readonly meta?: () => JsonObject | undefined
  readonly run: (args: Args, context: ToolContext) => Promise<ToolResult>
}

/** A tool with its argument type erased. */
export type AnyTool = Tool<unknown>

/** Declares a tool and infers the type of its arguments from `input`. */
export const defineTool = <Args>(spec: Tool<Args>): AnyTool => spec as unknown as AnyTool

/** Hints of a tool that changes nothing. */
export const READ_ONLY = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const

/** Hints of a tool that spends money and reaches beyond the hub. */
export const SPENDING = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: true,
} as const
