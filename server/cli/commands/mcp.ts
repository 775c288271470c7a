import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { request } from 'undici'
import type { Context } from '../context.ts'

const TIMEOUT_MS = 330_000
const INTERNAL_ERROR = -32_603

type Json = Record<string, unknown>

/** Bridges MCP over stdio, with the key of this machine, so that no other file has to hold it. */
export async function bridge({ hub, settings, store }: Context): Promise<void> {
  const pipe: Pipe = {
    url: `${settings.mcpUrl ?? hub}/mcp`,
    apiKey: await store.apiKey(),
    state: {},
    pending: new Map(),
    write: (message) => void process.stdout.write(`${JSON.stringify(message)}\n`),
  }
  const work = new Set<Promise<void>>()
  for await (const line of createInterface({
    input: process.stdin,
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    if (line.trim() === '') continue
    const passing = forwardMessage(pipe, line).finally(() => work.delete(passing))
    work.add(passing)
  }
  await Promise.all(work)
}

interface Pipe {
  readonly url: string
  readonly apiKey: string
  /** State negotiated by initialization, sent with every later request. */
  readonly state: { version?: string }
  /** Pending requests by id. */
  readonly pending: Map<unknown, AbortController>
  readonly write: (message: unknown) => void
}

async function forwardMessage(pipe: Pipe, line: string): Promise<void> {
  const { url, apiKey, state, pending, write } = pipe
  const message = parse(line)
  const id = message?.['id']
  const cancel = new AbortController()
  if (message?.['method'] === 'notifications/cancelled') cancelRequest(pipe, message)
  if (id !== undefined) pending.set(id, cancel)
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
        ...requestHeaders(message, state),
      },
    })
    let isAnswered = id === undefined
    const isStream = String(response.headers['content-type']).includes('event-stream')
    for await (const text of isStream ? readEvents(response.body) : readBody(response.body)) {
      const answer = parse(text)
      if (answer === undefined) continue
      const { protocolVersion } = (answer['result'] ?? {}) as { protocolVersion?: string }
      if (protocolVersion !== undefined) state.version = protocolVersion
      const isMessage = answer['jsonrpc'] === '2.0'
      // An error of the request, such as an invalid key, has no id: it was not parsed.
      const isOfRequest = isMessage && 'error' in answer && (answer['id'] ?? null) === null
      if (isOfRequest) write({ ...answer, id })
      else write(isMessage ? answer : errorResponse(id, String(answer['detail'])))
      isAnswered ||= isOfRequest || !isMessage || answer['id'] === id
    }
    if (!isAnswered) write(errorResponse(id, `${url} answered ${response.statusCode}.`))
  } catch (error) {
    if (cancel.signal.aborted) return
    process.stderr.write(`hub mcp: ${(error as Error).message}\n`)
    if (id !== undefined) write(errorResponse(id, `${url} does not respond.`))
  } finally {
    pending.delete(id)
  }
}

/** Cancels a request by closing its connection (MCP 2026-07-28, cancellation). */
function cancelRequest({ pending }: Pipe, { params }: Json): void {
  const { requestId } = (params ?? {}) as { requestId?: unknown }
  pending.get(requestId)?.abort()
}

/** Builds the request headers; newer clients send their version in each message as well. */
function requestHeaders(message: Json | undefined, { version }: Pipe['state']) {
  const { method, params = {} } = (message ?? {}) as { method?: string; params?: object }
  const { _meta: meta = {}, name } = params as { _meta?: Json; name?: string }
  const own = meta['io.modelcontextprotocol/protocolVersion']
  const spoken = typeof own === 'string' ? own : version
  if (spoken === undefined || method === 'initialize') return {}
  const modern = typeof own === 'string' && method !== undefined
  return {
    'mcp-protocol-version': spoken,
    ...(modern
      ? { 'mcp-method': method, ...(name === undefined ? {} : { 'mcp-name': encodeHeader(name) }) }
      : {}),
  }
}

/** Encodes a value that a header cannot hold as base64 (MCP 2026-07-28, transports). */
const encodeHeader = (name: string): string =>
  /^[\x21-\x7e]*$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`

const errorResponse = (id: unknown, text: string) => ({
  jsonrpc: '2.0',
  id,
  error: { code: INTERNAL_ERROR, message: text },
})

async function* readBody(body: { text(): Promise<string> }): AsyncGenerator<string> {
  yield await body.text()
}

/** Yields the data of each server-sent event as it arrives. */
async function* readEvents(body: Readable): AsyncGenerator<string> {
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
