import { FAULTS, type FaultCode } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Issue } from '../../core/plugin/validate.ts'
import { convertToDollars } from './dollars.ts'
import { toolAdvice } from './remedies.ts'
import type { ToolResult } from './tool.ts'

/** Returns a result as structured content, and as JSON text for clients that read text only. */
export const jsonResult = (value: JsonObject, meta?: JsonObject | ''): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value,
  ...(meta && { _meta: meta }),
})

/** Returns a failure that a model can act on: what to do next, and what was charged. */
export const failureResult = (value: JsonObject): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  isError: true,
})

/** Members of a problem body that only HTTP clients need. */
const HTTP_MEMBERS: ReadonlySet<string> = new Set(
  (
    'type title status detail instance code advice retryable request_id charged_microdollars ' +
    'next_steps x402Version resource accepts error'
  ).split(' '),
)

/**
 * Converts a problem body (RFC 9457) for agents: dollars, and tools instead of routes.
 * @param more members about the failed call
 */
export function problemResult(body: JsonObject, more: JsonObject = {}): ToolResult {
  const code = body['code'] as FaultCode
  const [, title, advice] = FAULTS[code]
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !HTTP_MEMBERS.has(name)))
  const extras = convertToDollars(rest) as JsonObject
  const charged = body['charged_microdollars'] ?? 0
  return failureResult({
    error: code,
    message: body['detail'] === advice ? title : body['detail'],
    next: toolAdvice(code, extras) ?? advice,
    ...(convertToDollars({ charged_microdollars: charged }) as JsonObject),
    retryable: body['retryable'],
    request_id: body['request_id'],
    ...more,
    ...extras,
  })
}

/** Reports arguments that do not match the tool's schema. */
export const invalidArgumentsResult = (tool: string, issues: readonly Issue[]): ToolResult =>
  failureResult({
    error: 'invalid_arguments',
    message: issues.map(({ path, message }) => `${path.slice(1) || tool} ${message}`).join('; '),
    next: `Call ${tool} again with arguments that match its input schema.`,
    charged_usd: '0.00',
    ...(issues.some(({ allowed }) => allowed) ? { allowed: allowedOf(issues) } : {}),
  })

const allowedOf = (issues: readonly Issue[]): JsonObject =>
  Object.fromEntries(
    issues.filter(({ allowed }) => allowed).map(({ path, allowed }) => [path.slice(1), allowed]),
  )
