import { FAULTS, type FaultCode } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Issue } from '../../core/plugin/validate.ts'
import { inDollars } from './dollars.ts'
import { remedyOf } from './remedies.ts'
import type { ToolResult } from './tool.ts'

/** A result, as structured content and as the same in JSON for clients that read text alone. */
export const told = (value: JsonObject, meta?: JsonObject | ''): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value,
  ...(meta && { _meta: meta }),
})

/** A failure that the model can do something about; it says what, and what was charged. */
export const failed = (value: JsonObject): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  isError: true,
})

/** Members of a problem body that are for programs of HTTP. */
const FOR_HTTP: ReadonlySet<string> = new Set(
  (
    'type title status detail instance code advice retryable request_id charged_microdollars ' +
    'next_steps x402Version resource accepts error'
  ).split(' '),
)

/**
 * A problem body (RFC 9457) in the words of an agent: dollars, and tools instead of routes.
 * @param more of the call that failed
 */
export function problemResult(body: JsonObject, more: JsonObject = {}): ToolResult {
  const code = body['code'] as FaultCode
  const [, title, advice] = FAULTS[code]
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !FOR_HTTP.has(name)))
  const extras = inDollars(rest) as JsonObject
  const charged = body['charged_microdollars'] ?? 0
  return failed({
    error: code,
    message: body['detail'] === advice ? title : body['detail'],
    next: remedyOf(code, extras) ?? advice,
    ...(inDollars({ charged_microdollars: charged }) as JsonObject),
    retryable: body['retryable'],
    request_id: body['request_id'],
    ...more,
    ...extras,
  })
}

/** Arguments that do not satisfy the tool's schema. Nothing was done. */
export const badArguments = (tool: string, issues: readonly Issue[]): ToolResult =>
  failed({
    error: 'invalid_arguments',
    message: issues.map(({ path, message }) => `${path.slice(1) || tool} ${message}`).join('; '),
    next: `Call ${tool} again with what its input schema asks for.`,
    charged_usd: '0.00',
    ...(issues.some(({ allowed }) => allowed) ? { allowed: allowedOf(issues) } : {}),
  })

const allowedOf = (issues: readonly Issue[]): JsonObject =>
  Object.fromEntries(
    issues.filter(({ allowed }) => allowed).map(({ path, allowed }) => [path.slice(1), allowed]),
  )
