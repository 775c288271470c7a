import { KEYED, WITH_BODY } from './faults.ts'
import { content, jsonBody, nameOf, problems } from './parts.ts'

const MESSAGE = {
  type: 'object',
  required: ['jsonrpc'],
  properties: { jsonrpc: { const: '2.0' }, method: { type: 'string' } },
} as const

/** The one address of MCP. What it speaks is described by that protocol, not here. */
export const mcpOperation = (path: string) => ({
  operationId: nameOf('POST', path),
  summary: 'The Model Context Protocol: one JSON-RPC message, and its answer.',
  tags: ['mcp'],
  security: [{ apiKey: [] }],
  requestBody: jsonBody(MESSAGE, { jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  responses: {
    200: { description: 'The answer', ...content(MESSAGE) },
    202: { description: 'A notification was taken' },
    ...problems([
      ...KEYED,
      ...WITH_BODY,
      'method_not_allowed',
      'not_acceptable',
      'origin_not_allowed',
      'api_keys_only',
      'internal_error',
      'service_unavailable',
    ]),
  },
})
