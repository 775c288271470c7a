import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import nock from 'nock'
import { Client } from 'undici'

/** A real server on loopback. */
export interface Listening {
  readonly port: number
  close(): Promise<void>
}

/** Request handler, such as a Koa callback. */
type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

/** Disables the mocks of other tests, which intercept every socket. */
export async function listen(listener: Listener): Promise<Listening> {
  nock.restore()
  const server = createServer((request, response) => void listener(request, response)).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      nock.activate()
    },
  }
}

export interface Sent {
  readonly method?: string
  /** Sent without normalization. */
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** Body; an array is sent in chunks without a length. */
  readonly body?: string | Buffer | readonly (string | Buffer)[]
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  readonly json: Record<string, unknown>
}

/** Sends one request on its own connection. */
export async function send(port: number, { method, path, headers, body }: Sent): Promise<Answer> {
  const client = new Client(`http://127.0.0.1:${port}`)
  try {
    const answer = await client.request({
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      path: path ?? '/',
      headers: { ...headers },
      body: isChunked(body) ? Readable.from(body) : (body ?? null),
    })
    const text = await answer.body.text()
    const json = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {}
    return { status: answer.statusCode, headers: answer.headers, text, json }
  } finally {
    await client.destroy()
  }
}

const isChunked = (body: Sent['body']): body is readonly (string | Buffer)[] => Array.isArray(body)
