import { ask, type Told } from '../../support/ask.ts'
import type { TestHub } from '../../support/hub.ts'

type Json = Readonly<Record<string, unknown>>
type Asker = {
  readonly key?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

export const MODERN = '2026-07-28'
const ACCEPT = { accept: 'application/json, text/event-stream' }
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Sends a body to the endpoint, as it is. */
export const post = (
  { url }: Pick<TestHub, 'url'>,
  body: unknown,
  { key, headers }: Asker = {},
): Promise<Told> => ask(url, '/mcp', { key, body, headers: { ...ACCEPT, ...headers } })

/** A request of a legacy client. */
export const legacy = (hub: TestHub, method: string, params: Json | undefined, asker: Asker) =>
  post(hub, { jsonrpc: '2.0', id: 1, method, ...(params && { params }) }, asker)

/** A request of a modern client, with all that it must say. */
export function modern(hub: TestHub, method: string, params: Json, asker: Asker): Promise<Told> {
  const { name } = params
  const headers = {
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
    ...asker.headers,
  }
  const own = { ...params, _meta: { ...META, ...(params['_meta'] as Json | undefined) } }
  return post(hub, { jsonrpc: '2.0', id: 1, method, params: own }, { ...asker, headers })
}

export interface Result {
  readonly isError?: boolean
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Json
  readonly _meta?: Json
}

/** Calls a tool as a legacy client does, and gives its result. */
export async function callTool(
  hub: TestHub,
  key: string,
  name: string,
  args: Json,
  meta?: Json,
): Promise<Result & { readonly told: Json }> {
  const params = { name, arguments: args, ...(meta && { _meta: meta }) }
  const { status, body, text } = await legacy(hub, 'tools/call', params, { key })
  const result = body['result'] as Result | undefined
  if (status !== 200 || !result) throw new Error(`${status} ${text}`)
  return { ...result, told: JSON.parse(result.content.at(-1)!.text) as Json }
}
