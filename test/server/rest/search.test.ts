import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import nock from 'nock'
import { embedDocuments } from '../../../core/catalog/search/semantic/embed-documents.ts'
import { openAiEmbedder } from '../../../core/catalog/search/semantic/embedder.ts'
import { createBackends } from '../../../core/egress/backends.ts'
import { ask, type Page, pageOf } from '../../support/ask.ts'
import { startTestHub, type TestAgent, type TestHub } from '../../support/hub.ts'
import { listenOnLoopback } from '../../support/loopback.ts'

type Item = Readonly<Record<string, unknown>>

/** Thirty listings with rising prices; every third on Polygon, every fifth tagged `radar`. */
const LISTINGS = `
  INSERT INTO hub.listing (id, url, method, origin, host, name, description, category, tags,
      provider, scheme, network, asset, pay_to, price, payable, offers, state, rank,
      first_seen_at, listed_at, last_verified_at)
    SELECT 'ext_' || lpad(n::text, 22, '0'), 'https://wx' || n || '.acme.com/v1/rain', 'GET',
      'https://wx' || n || '.acme.com', 'wx' || n || '.acme.com', 'Drizzle ' || n,
      'Forecasts precipitation, hour by hour.', CASE WHEN n % 2 = 0 THEN 'weather' ELSE 'data' END,
      CASE WHEN n % 5 = 0 THEN '{radar,storm}' ELSE '{storm}' END::text[], 'acme', 'exact',
      'eip155:8453', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      '0x' || lpad(to_hex(n), 40, '0'), 1000 * n, true, jsonb_build_array(
        jsonb_build_object('network',
          CASE WHEN n % 3 = 0 THEN 'eip155:137' ELSE 'eip155:8453' END)),
      'active', 2, '2026-01-01', '2026-01-01', now() FROM generate_series(1, 30) n`

/** Embedding server for which exactly one listing and one query have the same meaning. */
async function know(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { input } = (await json(request)) as { readonly input: readonly string[] }
  const isNear = (text: string) => /Drizzle 23|^storm precipitation$/.test(text)
  const data = input.map((text, index) => ({ index, embedding: isNear(text) ? [1, 0] : [0, 1] }))
  response.end(JSON.stringify({ data }))
}
const knowing: RequestListener = (request, response) => void know(request, response)

const SETTINGS = { model: 'small', key: undefined } as const

describe('POST /v1/search', () => {
  let hub: TestHub
  let ada: TestAgent
  let engine: ReturnType<typeof createServer>
  let url: string
  let answer: RequestListener = knowing

  before(async () => {
    nock.restore()
    engine = createServer((request, response) => answer(request, response))
    const port = await listenOnLoopback(engine)
    url = `http://127.0.0.1:${port}/v1`
    hub = await startTestHub({ config: { embeddings: { url, ...SETTINGS } } })
    ada = await hub.agent()
    await hub.database.admin.query(LISTINGS)
    const way = createBackends({ origins: [new URL(url).origin], userAgent: 'test' })
    const embedder = openAiEmbedder({ url, ...SETTINGS }, way)
    await embedDocuments({ pool: hub.database.pool, embedder }, new AbortController().signal)
    await way.close()
  })
  after(async () => {
    engine.closeAllConnections()
    engine.close()
    await hub.close()
    nock.activate()
  })

  const find = async (order: Item) => {
    const { status, body } = await ask(hub.url, '/v1/search', { key: ada.apiKey, body: order })
    expect(status, JSON.stringify(body)).to.equal(200)
    return pageOf(body)
  }
  const numbers = ({ data }: Page) => data.map(({ id }) => Number(String(id).replace('ext_', '')))

  const filters: readonly (readonly [order: Item, passes: (n: number) => boolean])[] = [
    [{ tag: 'radar' }, (n) => n % 5 === 0],
    [{ network: 'eip155:137' }, (n) => n % 3 === 0],
    [{ max_price: 7_000 }, (n) => n <= 7],
    [{ max_price_microdollars: 7_999 }, (n) => n <= 7],
    [{ max_price: 9_000, max_price_microdollars: 3_000 }, (n) => n <= 3],
    [{ category: 'weather', max_price: 10_000 }, (n) => n % 2 === 0 && n <= 10],
    [{ tag: 'radar', network: 'eip155:137', category: 'data' }, (n) => n === 15],
    [{ tag: 'radar', network: 'eip155:1' }, () => false],
  ]
  for (const [filter, passes] of filters) {
    for (const query of ['precipitation forecast', '']) {
      const label = `${JSON.stringify(filter)} and "${query}"`
      it(`returns all matches of ${label} across pages`, async () => {
        const order = { query, type: 'external', limit: 3, ...filter }
        const wanted = Array.from({ length: 30 }, (_, i) => i + 1).filter(passes)
        const seen: number[] = []
        let cursor: string | null = null
        do {
          const page: Page = await find(cursor === null ? order : { ...order, cursor })
          expect(page.has_more).to.equal(page.next_cursor !== null)
          expect(page.data.length).to.be.at.most(3)
          seen.push(...numbers(page).filter((n) => n > 0))
          cursor = page.next_cursor
        } while (cursor !== null)
        expect(seen, 'each once').to.have.length(new Set(seen).size)
        expect(seen).to.have.members(wanted)
      })
    }
  }

  it('filters native and external services', async () => {
    const types = async (type: string) =>
      new Set((await find({ type, limit: 100 })).data.map((hit) => hit['type']))
    expect(await types('native')).to.deep.equal(new Set(['native']))
    expect(await types('external')).to.deep.equal(new Set(['external']))
  })

  it('ranks the exact name or host first', async () => {
    for (const query of ['drizzle 17', 'Drizzle-17', 'wx17.acme.com']) {
      const { data } = await find({ query })
      expect(data[0], query).to.include({ name: 'Drizzle 17' })
      expect(data[0]?.['why'], query).to.match(/^exact name/)
    }
  })

  it('explains corrected misspellings and synonyms', async () => {
    const [typo] = (await find({ query: 'precipitaton' })).data
    expect(typo?.['why']).to.include('description: "precipitaton" as "precipit"')
    const [synonym] = (await find({ query: 'outlook', type: 'external' })).data
    expect(synonym?.['why']).to.include('description: "outlook" as "forecast"')
  })

  it('searches by meaning, and by words only while the embedding server is down', async () => {
    const [first] = (await find({ query: 'storm precipitation', type: 'external' })).data
    expect(first).to.include({ name: 'Drizzle 23' })
    expect(first?.['why']).to.include('meaning: 100 % alike')
    answer = (_, response) => response.writeHead(503).end()
    const [next] = (await find({ query: 'precipitation storm', type: 'external' })).data
    expect(next?.['why']).to.include('description: "precipitation"').and.not.include('meaning')
  })
})
