import { type ApiResponse, ask } from '../../support/ask.ts'
import type { TestHub } from '../../support/hub.ts'

type Json = Readonly<Record<string, unknown>>
type Credentials = {
  readonly key?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

export const MODERN = '2026-07-28'
const ACCEPT = { accept: 'application/json, text/event-stream' }
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Error of a JSON-RPC response. */
interface RpcError {
  readonly code?: number
  readonly data?: Record<string, unknown>
}
const errorOf = ({ body }: ApiResponse) => body['error'] as RpcError | undefined
export const codeOf = (response: ApiResponse): unknown => errorOf(response)?.code
export const dataOf = (response: ApiResponse) => errorOf(response)?.data ?? {}

/** Posts a body to the MCP endpoint. */
export const post = (
  { url }: Pick<TestHub, 'url'>,
  body: unknown,
  { key, headers }: Credentials = {},
): Promise<ApiResponse> => ask(url, '/mcp', { key, body, headers: { ...ACCEPT, ...headers } })

/** Sends a request as a legacy client does. */
export const legacy = (
  hub: Pick<TestHub, 'url'>,
  method: string,
  params: Json | undefined,
  credentials: Credentials,
) => post(hub, { jsonrpc: '2.0', id: 1, method, ...(params && { params }) }, credentials)

/** Sends a request as a modern client does, with all required headers and metadata. */
export function modern(
  hub: TestHub,
  method: string,
  params: Json,
  credentials: Credentials,
): Promise<ApiResponse> {
  const { name } = params
  const headers = {
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
    ...credentials.headers,
  }
  const full = { ...params, _meta: { ...META, ...(params['_meta'] as Json | undefined) } }
  return post(hub, { jsonrpc: '2.0', id: 1, method, params: full }, { ...credentials, headers })
}

export interface Result {
  readonly isError?: boolean
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Json
  readonly _meta?: Json
}

/** Calls a tool as a legacy client does; `data` is the parsed text of the result. */
export async function callTool(
  hub: Pick<TestHub, 'url'>,
  key: string,
  name: string,
  args: Json,
  meta?: Json,
): Promise<Result & { readonly data: Json }> {
  const params = { name, arguments: args, ...(meta && { _meta: meta }) }
  const { status, body, text } = await legacy(hub, 'tools/call', params, { key })
  const result = body['result'] as Result | undefined
  if (status !== 200 || !result) throw new Error(`${status} ${text}`)
  return { ...result, data: JSON.parse(result.content.at(-1)!.text) as Json }
}
