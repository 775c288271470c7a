import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import nock from 'nock'
import { readConfig } from '../../../core/config.ts'
import { usd } from '../../../core/money.ts'
import { openTestSites, paths, type TestSites } from '../../core/catalog/fixture.ts'
import { type ApiResponse, ask, type RequestOptions } from '../../support/ask.ts'
import { startTestHub, type TestAgent, type TestHub } from '../../support/hub.ts'

export type Body = Readonly<Record<string, unknown>>

export const HOST = 'owner.test'
const PROOF = '/.well-known/agenthub.txt'
/** Chromium is unpacked once for all test runs. */
const BROWSER_HOME = fileURLToPath(
  new URL('../../../node_modules/.cache/agenthub/browser', import.meta.url),
)

export const html =
  (body: string, head = '') =>
  (_: IncomingMessage, response: ServerResponse): void =>
    void response
      .writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' })
      .end(`<!doctype html><html lang="en"><head>${head}</head><body>${body}</body></html>`)

export const article = (title: string, text: string): string =>
  `<main><article><h1>${title}</h1><p>${text}</p></article></main>`

export const TEXT =
  'The harbour froze in the second week of January, and nobody alive could remember the like. ' +
  'Boats that had not left their moorings in a century stood in a white field, and children ' +
  'walked between them to school.'

/** Starts a hub and a provider's website for all tests of a `describe`. */
export function useOwner(more: NonNullable<Parameters<typeof startTestHub>[0]>['config'] = {}) {
  let hub: TestHub
  let sites: TestSites
  let owner: TestAgent
  let reader: TestAgent
  before(async () => {
    nock.restore()
    sites = await openTestSites()
    const browser = { ...readConfig({}).browser, browsers: 1, home: BROWSER_HOME }
    const { sandboxHosts } = sites
    hub = await startTestHub({ config: { sandboxHosts, browser, ...more } })
    owner = await hub.agent()
    reader = await hub.agent()
    await hub.credit(reader.keyId, usd('5'))
  })
  after(async () => {
    sites.close()
    await hub.close()
    nock.activate()
  })

  const send = (method: string, path: string, body?: Body, agent = owner) =>
    ask(hub.url, path, { method, key: agent.apiKey, ...(body && { body }) })
  const register = async (body: Body = {}, agent = owner) => {
    const response = await send('POST', '/v1/domains', { domain: `http://${HOST}`, ...body }, agent)
    expect(response.status, response.text).to.equal(201)
    return response.body
  }
  /** Serves a proof token and these pages from the site. */
  const shows = (token: unknown, pages: Parameters<typeof paths>[0] = {}, host = HOST): void =>
    sites.at(host, paths({ [PROOF]: (_, response) => response.end(String(token)), ...pages }))
  /** Skips the five-second interval between ownership checks. */
  const settle = () => hub.database.admin.query('UPDATE hub.domain SET tried_at = NULL')
  const verify = async (id: unknown, agent = owner) => {
    await settle()
    return send('POST', `/v1/domains/${String(id)}/verify`, undefined, agent)
  }
  const price = (id: unknown, rules: readonly Body[], agent = owner) =>
    send('PUT', `/v1/domains/${String(id)}/rules`, { rules }, agent)
  /** Sells the site's pages by these rules. */
  const sell = async (
    rules: readonly Body[],
    pages: Parameters<typeof paths>[0],
    origin = `http://${HOST}`,
  ) => {
    const { domain_id: id, proof } = await register({ domain: origin })
    shows((proof as Body)['token'], pages, new URL(origin).host)
    const { status, body, text } = await verify(id)
    expect(status, text).to.equal(200)
    expect((await price(id, rules)).status).to.equal(200)
    return { id: String(id), slug: String(body['slug']) }
  }
  const read = (slug: string, url: string, question: RequestOptions = {}): Promise<ApiResponse> =>
    ask(hub.url, `/proxy/${slug}/fetch?url=${encodeURIComponent(url)}`, {
      key: reader.apiKey,
      ...question,
    })
  return {
    send,
    register,
    shows,
    verify,
    price,
    sell,
    read,
    get hub() {
      return hub
    },
    get sites() {
      return sites
    },
    get owner() {
      return owner
    },
    get reader() {
      return reader
    },
  }
}
