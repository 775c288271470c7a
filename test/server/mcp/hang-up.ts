import { request } from 'node:http'
import type { TestHub } from '../../support/hub.ts'
import { MODERN } from './ask.ts'

/** Calls a tool; `hangUp` disconnects before the response. */
export function hangUp(
  { url }: TestHub,
  era: 'modern' | 'legacy',
  params: { readonly name: string; readonly arguments: object },
  key: string,
) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const isModern = era === 'modern'
  const sent = { ...params, ...(isModern && { _meta: meta }) }
  const post = request(new URL('/mcp', url), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(isModern && {
        'mcp-protocol-version': MODERN,
        'mcp-method': 'tools/call',
        'mcp-name': params.name,
      }),
    },
  })
  post.on('error', () => undefined)
  post.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: sent }))
  return {
    async hangUp() {
      const closed = new Promise((resolve) => post.once('close', resolve))
      post.destroy()
      await closed
    },
  }
}
