import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { request } from 'undici'
import type { Context } from '../context.ts'

const TIMEOUT_MS = 330_000
const INTERNAL_ERROR = -32_603

type Json = Record<string, unknown>

/**
 * MCP over stdin and stdout, for assistants that start a command: passes each message on to the
 * hub with the key of this machine, so that no other file needs to hold it. What the hub says on
 * the way, such as progress, is passed on as it comes.
 */
export async function bridge({ hub, settings, store }: Context): Promise<void> {
  const pipe: Pipe = {
    url: `${settings.mcpUrl ?? hub}/mcp`,
    apiKey: await store.apiKey(),
    state: {},
    asked: new Map(),
    write: (message) => void process.stdout.write(`${JSON.stringify(message)}\n`),
  }
  const work = new Set<Promise<void>>()
  for await (const line of createInterface({
    input: process.stdin,
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    if (line.trim() === '') continue
    const passing = pass(pipe, line).finally(() => work.delete(passing))
    work.add(passing)
  }
  await Promise.all(work)
}

interface Pipe {
  readonly url: string
  readonly apiKey: string
  /** What initialization agreed on, as every later request has to say. */
  readonly state: { version?: string }
  /** Requests that are not answered yet, by their id. */
  readonly asked: Map<unknown, AbortController>
  readonly write: (message: unknown) => void
}

async function pass(pipe: Pipe, line: string): Promise<void> {
  const { url, apiKey, state, asked, write } = pipe
  const message = parse(line)
  const id = message?.['id']
  const cancel = new AbortController()
  if (message?.['method'] === 'notifications/cancelled') cancelled(pipe, message)
  if (id !== undefined) asked.set(id, cancel)
  try {
    const response = await request(url, {
      method: 'POST',
      body: line,
      signal: cancel.signal,
      bodyTimeout: TIMEOUT_MS,
      headersTimeout: TIMEOUT_MS,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headersOf(message, state),
      },
    })
    const isStream = String(response.headers['content-type']).includes('event-stream')
    for await (const text of isStream ? eventsOf(response.body) : whole(response.body)) {
      const answer = parse(text)
      if (answer === undefined) continue
      const { protocolVersion } = (answer['result'] ?? {}) as { protocolVersion?: string }
      if (protocolVersion !== undefined) state.version = protocolVersion
      write(answer['jsonrpc'] === '2.0' ? answer : refusal(id, String(answer['detail'])))
    }
  } catch (error) {
    if (cancel.signal.aborted) return
    process.stderr.write(`hub mcp: ${(error as Error).message}\n`)
    if (id !== undefined) write(refusal(id, `${url} does not answer.`))
  } finally {
    asked.delete(id)
  }
}

/** To the hub a modern client has cancelled when it hangs up (2026-07-28, cancellation). */
function cancelled({ asked }: Pipe, { params }: Json): void {
  const { requestId } = (params ?? {}) as { requestId?: unknown }
  asked.get(requestId)?.abort()
}

/** Newer clients carry their version in each message, and it has to stand in the headers too. */
function headersOf(message: Json | undefined, { version }: Pipe['state']) {
  const { method, params = {} } = (message ?? {}) as { method?: string; params?: object }
  const { _meta: meta = {}, name } = params as { _meta?: Json; name?: string }
  const own = meta['io.modelcontextprotocol/protocolVersion']
  const spoken = typeof own === 'string' ? own : version
  if (spoken === undefined || method === 'initialize') return {}
  const modern = typeof own === 'string' && method !== undefined
  return {
    'mcp-protocol-version': spoken,
    ...(modern
      ? { 'mcp-method': method, ...(name === undefined ? {} : { 'mcp-name': headerOf(name) }) }
      : {}),
  }
}

/** What a header cannot hold goes as base64 (2026-07-28, transports). */
const headerOf = (name: string): string =>
  /^[\x21-\x7e]*$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`

const refusal = (id: unknown, text: string) => ({
  jsonrpc: '2.0',
  id,
  error: { code: INTERNAL_ERROR, message: text },
})

async function* whole(body: { text(): Promise<string> }): AsyncGenerator<string> {
  yield await body.text()
}

/** The data of each server-sent event, as soon as it is there. */
async function* eventsOf(body: Readable): AsyncGenerator<string> {
  let data: string[] = []
  for await (const line of createInterface({ input: body, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.startsWith('data:')) data.push(line.slice(5).trimStart())
    if (line !== '') continue
    if (data.length > 0) yield data.join('\n')
    data = []
  }
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
