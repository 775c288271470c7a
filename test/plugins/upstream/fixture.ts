import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { expect } from 'chai'
import nock from 'nock'
import { usd } from '../../../core/money.ts'
import { type ApiResponse, ask, type RequestOptions } from '../../support/ask.ts'
import { startTestHub, type TestAgent, type TestHub } from '../../support/hub.ts'
import { listenOnLoopback } from '../../support/loopback.ts'
import { START_MS } from '../../support/suite.ts'

export type Body = Readonly<Record<string, unknown>>

/** Request received by the provider's API. */
export interface UpstreamRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Sells an API without test calls. */
export const WAIVER = { waive_tests: true }

type Handler = (request: UpstreamRequest, response: ServerResponse) => void

/** Starts a hub, a local API, its provider and a paying caller for a whole `describe`. */
export function useUpstream(config: Parameters<typeof startTestHub>[0] = {}) {
  let hub: TestHub
  let owner: TestAgent
  let payer: TestAgent
  let origin = ''
  let count = 0
  const seen: UpstreamRequest[] = []
  let handler: Handler = (_, response) => void response.end('{}')
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const upstreamRequest = { method, url, headers, body: Buffer.concat(chunks).toString() }
      seen.push(upstreamRequest)
      handler(upstreamRequest, response)
    })
  })
  before(async function () {
    this.timeout(START_MS)
    nock.restore()
    const port = await listenOnLoopback(server)
    origin = `http://127.0.0.1:${port}`
    const own = { pluginHosts: [origin], ...config.config }
    hub = await startTestHub({ ...config, config: own })
    owner = await hub.agent()
    payer = await hub.agent()
    // A key without credits may send 100 requests in a minute only.
    for (const { keyId } of [owner, payer]) await hub.credit(keyId, usd('5'))
  })
  after(async () => {
    server.closeAllConnections()
    server.close()
    await hub.close()
    nock.activate()
  })

  const send = (
    method: string,
    path: string,
    body?: unknown,
    agent = owner,
  ): Promise<ApiResponse> =>
    ask(hub.url, path, { method, key: agent.apiKey, ...(body !== undefined && { body }) })
  const draft = async (about: Body = {}): Promise<string> => {
    const slug = `acme-${++count}`
    const { status, text } = await send('POST', '/v1/provider/services', {
      slug,
      name: 'Acme',
      category: 'data',
      summary: 'Made by a test.',
      base_url: `${origin}/base`,
      ...about,
    })
    expect(status, text).to.equal(201)
    return slug
  }
  const put = (slug: string, endpoints: readonly Body[]) =>
    send('PUT', `/v1/provider/services/${slug}/endpoints`, { endpoints })
  /** Sells these endpoints, by default for 1,000 microdollars. */
  const sell = async (endpoints: readonly Body[], about: Body = {}): Promise<string> => {
    const slug = await draft(about)
    const priced = endpoints.map((each) => ({
      method: 'POST',
      path: '/do',
      summary: 'Does it.',
      price_microdollars: 1_000,
      ...each,
    }))
    const { status, text } = await put(slug, priced)
    expect(status, text).to.equal(200)
    const active = await send('POST', `/v1/provider/services/${slug}/activate`, WAIVER)
    expect(active.status, active.text).to.equal(200)
    return slug
  }
  const call = (slug: string, path: string, question: RequestOptions = {}): Promise<ApiResponse> =>
    ask(hub.url, `/proxy/${slug}${path}`, { key: payer.apiKey, ...question })
  const act = (slug: string, what: string, body?: Body) =>
    send(
      'POST',
      `/v1/provider/services/${slug}/${what}`,
      what === 'activate' ? (body ?? WAIVER) : body,
    )
  const view = async (slug: string) => (await send('GET', `/v1/provider/services/${slug}`)).body
  return {
    send,
    draft,
    put,
    sell,
    call,
    act,
    view,
    seen,
    /** Sets the handler of the API. */
    answers: (next: Handler) => {
      handler = next
      seen.length = 0
    },
    get hub() {
      return hub
    },
    get owner() {
      return owner
    },
    get payer() {
      return payer
    },
    get origin() {
      return origin
    },
  }
}

/** Handler that returns this JSON. */
export const json =
  (body: unknown, status = 200): Handler =>
  (_, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(body))
