import { createInterface } from 'node:readline'
import { request } from 'undici'
import type { Context } from '../context.ts'

const TIMEOUT_MS = 330_000
const INTERNAL_ERROR = -32_603

/**
 * MCP over stdin and stdout, for assistants that start a command: passes each message on to the
 * hub with the key of this machine, so that no other file needs to hold it.
 */
export async function bridge({ hub, settings, store }: Context): Promise<void> {
  const url = `${settings.mcpUrl ?? hub}/mcp`
  const apiKey = await store.apiKey()
  const state: { version?: string } = {}
  const write = (message: unknown): void =>
    void process.stdout.write(`${JSON.stringify(message)}\n`)
  const work = new Set<Promise<void>>()
  for await (const line of createInterface({
    input: process.stdin,
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    if (line.trim() === '') continue
    const passing = pass({ url, apiKey, state, write }, line).finally(() => work.delete(passing))
    work.add(passing)
  }
  await Promise.all(work)
}

interface Pipe {
  readonly url: string
  readonly apiKey: string
  /** What initialization agreed on, as every later request has to say. */
  readonly state: { version?: string }
  readonly write: (message: unknown) => void
}

async function pass({ url, apiKey, state, write }: Pipe, line: string): Promise<void> {
  const message = parse(line)
  try {
    const response = await request(url, {
      method: 'POST',
      body: line,
      bodyTimeout: TIMEOUT_MS,
      headersTimeout: TIMEOUT_MS,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headersOf(message, state),
      },
    })
    const text = await response.body.text()
    const type = String(response.headers['content-type'])
    for (const each of type.includes('event-stream') ? eventsOf(text) : [text]) {
      const answer = parse(each)
      if (answer === undefined) continue
      const { protocolVersion } = (answer['result'] ?? {}) as { protocolVersion?: string }
      if (protocolVersion !== undefined) state.version = protocolVersion
      write(answer['jsonrpc'] === '2.0' ? answer : refusal(message, String(answer['detail'])))
    }
  } catch (error) {
    process.stderr.write(`hub mcp: ${(error as Error).message}\n`)
    if (message?.['id'] !== undefined) write(refusal(message, `${url} does not answer.`))
  }
}

/** Newer clients carry their version in each message, and it has to stand in the headers too. */
function headersOf(
  message: Record<string, unknown> | undefined,
  { version }: { version?: string },
) {
  const { method, params = {} } = (message ?? {}) as { method?: string; params?: object }
  const { _meta: meta = {}, name } = params as { _meta?: Record<string, unknown>; name?: string }
  const own = meta['io.modelcontextprotocol/protocolVersion']
  const spoken = typeof own === 'string' ? own : version
  if (spoken === undefined || method === 'initialize') return {}
  const modern = typeof own === 'string' && method !== undefined
  return {
    'mcp-protocol-version': spoken,
    ...(modern
      ? { 'mcp-method': method, ...(name === undefined ? {} : { 'mcp-name': name }) }
      : {}),
  }
}

const refusal = (message: Record<string, unknown> | undefined, text: string) => ({
  jsonrpc: '2.0',
  id: message?.['id'] ?? null,
  error: { code: INTERNAL_ERROR, message: text },
})

const eventsOf = (text: string): readonly string[] =>
  text.split(/\r?\n\r?\n/).map((event) =>
    event
      .split(/\r?\n/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).trimStart())
      .join('\n'),
  )

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
