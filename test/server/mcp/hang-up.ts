import { request } from 'node:http'
import type { TestHub } from '../../support/hub.ts'
import { MODERN } from './ask.ts'

/** Calls a tool, and can be cut off before there is an answer. */
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
  const asked = request(new URL('/mcp', url), {
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
  asked.on('error', () => undefined)
  asked.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: sent }))
  return {
    async hangUp() {
      const closed = new Promise((resolve) => asked.once('close', resolve))
      asked.destroy()
      await closed
    },
  }
}
