import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { closeServer, listenOnLoopback } from '../../../support/loopback.ts'

/** Model output, or server behavior instead. */
export type Turn =
  | {
      readonly say: unknown
      readonly finish?: 'length'
      readonly tokens?: readonly [number, number]
    }
  | { readonly refuse: string }
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | 'hang'
  | 'cut'
  | ((request: ModelRequest) => Output)

export interface ModelRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Readonly<Record<string, unknown>>
  readonly raw: string
}

/** Stub servers of four vendors on one port, each under its own path, controlled by tests. */
export interface ModelServer {
  readonly origin: string
  /** Sets the next turns of the server `name`; the last one repeats. */
  script(name: string, ...turns: readonly Turn[]): void
  /** Requests since the script was set. */
  requests(name: string): readonly ModelRequest[]
  close(): Promise<void>
}

export async function openModelServer(): Promise<ModelServer> {
  const scripts = new Map<string, Turn[]>()
  const seen = new Map<string, ModelRequest[]>()
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const [, name = '', path = ''] = /^\/([^/]+)(\/.*)$/.exec(request.url ?? '') ?? []
      const raw = Buffer.concat(pieces).toString('utf8')
      const body = JSON.parse(raw) as ModelRequest['body']
      const modelRequest = { path, headers: request.headers, body, raw }
      seen.get(name)?.push(modelRequest)
      const script = scripts.get(name) ?? []
      const turn = script.length > 1 ? script.shift() : script[0]
      act(
        typeof turn === 'function' ? turn(modelRequest) : (turn ?? { status: 404 }),
        modelRequest,
        response,
      )
    })
  })
  const port = await listenOnLoopback(server)
  return {
    origin: `http://127.0.0.1:${port}`,
    script(name, ...turns) {
      scripts.set(name, [...turns])
      seen.set(name, [])
    },
    requests: (name) => seen.get(name) ?? [],
    async close() {
      await closeServer(server)
    },
  }
}

function act(
  turn: Exclude<Turn, (request: ModelRequest) => Output>,
  { path, body }: ModelRequest,
  response: ServerResponse,
): void {
  if (turn === 'hang') return
  if (turn === 'cut') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' })
    response.write('{"id":')
    response.destroy()
    return
  }
  if ('status' in turn) {
    const text = turn.body ?? JSON.stringify({ error: { message: 'no', type: 'error' } })
    response
      .writeHead(turn.status, { 'content-type': 'application/json', ...turn.headers })
      .end(text)
    return
  }
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(SHAPES[path]?.(turn, body)))
}

type Output = Extract<Turn, { say: unknown } | { refuse: string }>

const textOf = (turn: Output): string | null =>
  'refuse' in turn ? null : typeof turn.say === 'string' ? turn.say : JSON.stringify(turn.say)
const isCut = (turn: Output): boolean => 'say' in turn && turn.finish === 'length'
const tokensOf = (turn: Output): readonly [number, number] =>
  ('say' in turn ? turn.tokens : undefined) ?? [1_000, 100]

/** Responses in the vendors' formats, by path. */
const SHAPES: Readonly<Record<string, (turn: Output, body: ModelRequest['body']) => unknown>> = {
  '/v1/chat/completions': (turn) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_763_700_000,
    model: 'stub-1',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: textOf(turn),
          refusal: 'refuse' in turn ? turn.refuse : null,
        },
        logprobs: null,
        finish_reason: isCut(turn) ? 'length' : 'stop',
      },
    ],
    usage: {
      prompt_tokens: tokensOf(turn)[0],
      completion_tokens: tokensOf(turn)[1],
      total_tokens: tokensOf(turn)[0] + tokensOf(turn)[1],
    },
  }),
  '/v1/responses': (turn) => ({
    id: 'resp_1',
    object: 'response',
    created_at: 1_763_700_000,
    status: isCut(turn) ? 'incomplete' : 'completed',
    incomplete_details: isCut(turn) ? { reason: 'max_output_tokens' } : null,
    model: 'stub-1',
    output: [
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        role: 'assistant',
        content: [
          'refuse' in turn
            ? { type: 'refusal', refusal: turn.refuse }
            : { type: 'output_text', text: textOf(turn), annotations: [] },
        ],
      },
    ],
    usage: { input_tokens: tokensOf(turn)[0], output_tokens: tokensOf(turn)[1] },
  }),
  '/v1/messages': (turn, { tools }) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'stub-1',
    content:
      'refuse' in turn
        ? []
        : tools === undefined
          ? [{ type: 'text', text: textOf(turn) }]
          : [{ type: 'tool_use', id: 'toolu_1', name: 'json', input: turn.say }],
    stop_reason: 'refuse' in turn ? 'refusal' : isCut(turn) ? 'max_tokens' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: tokensOf(turn)[0], output_tokens: tokensOf(turn)[1] },
  }),
  // Ollama has no field for a refusal: it is part of the text.
  '/api/chat': (turn) => ({
    model: 'stub-1',
    created_at: '2026-11-21T00:00:00Z',
    message: { role: 'assistant', content: 'refuse' in turn ? turn.refuse : textOf(turn) },
    done: true,
    done_reason: isCut(turn) ? 'length' : 'stop',
    total_duration: 1,
    prompt_eval_count: tokensOf(turn)[0],
    eval_count: tokensOf(turn)[1],
  }),
}
