import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import nock from 'nock'
import { search } from '../../../../core/catalog/search/search.ts'
import {
  deleteUnusedEmbeddings,
  embedDocuments,
} from '../../../../core/catalog/search/semantic/embed-documents.ts'
import {
  cosineSimilarity,
  openAiEmbedder,
  packVector,
} from '../../../../core/catalog/search/semantic/embedder.ts'
import { SemanticRanker } from '../../../../core/catalog/search/semantic/semantic-ranker.ts'
import { ConfigError, readConfig, secretValues } from '../../../../core/config.ts'
import { createBackends } from '../../../../core/egress/backends.ts'
import { createLog } from '../../../../core/log.ts'
import { insertCatalog } from '../../../bench/search/engines.ts'
import type { Sample } from '../../../bench/search/relevance.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'

/** Model of the test's embedding API: the words of one line are synonyms. */
const CONCEPTS = ['river bank water shore flood', 'bank money account loan credit', 'song melody']

const vectorOf = (text: string): number[] => {
  const words = text.toLowerCase().split(/\W+/)
  return CONCEPTS.map(
    (line) => 0.01 + line.split(' ').filter((word) => words.includes(word)).length,
  )
}

interface EmbeddingRequest {
  readonly model: string
  readonly input: readonly string[]
}

const sampleOf = (id: string, summary: string): Sample => ({
  id,
  name: id,
  category: 'data',
  price: 100,
  tags: ['thing'],
  summary,
  endpoints: 'GET /things Things',
})

const DOCUMENTS = [
  sampleOf('alpha', 'Bank of the day: credit and loan.'),
  sampleOf('beta', 'Bank of the day: shore and flood.'),
  sampleOf('gamma', 'Melody of the day: song.'),
]

const never = new AbortController().signal

describe('semantic search', () => {
  let database: FreshDatabase
  let server: ReturnType<typeof createServer>
  let requests: EmbeddingRequest[]
  let authorization: string | undefined
  let answer: (request: EmbeddingRequest, response: ServerResponse) => void
  let now = Date.UTC(2026, 5, 1)
  const clock = { now: () => new Date(now) }
  const way = { close: async () => {} } as ReturnType<typeof createBackends>

  const properly = ({ input }: EmbeddingRequest, response: ServerResponse) => {
    const data = input.map((text, index) => ({ index, embedding: vectorOf(text) }))
    response.end(JSON.stringify({ object: 'list', data: data.toReversed() }))
  }

  before(async () => {
    nock.restore()
    database = await freshDatabase()
    const receive = async (request: IncomingMessage, response: ServerResponse) => {
      const body = (await json(request)) as EmbeddingRequest
      requests.push(body)
      authorization = request.headers.authorization
      if (request.url === '/v1/embeddings') answer(body, response)
      else response.writeHead(404).end()
    }
    server = createServer((request, response) => void receive(request, response))
    const port = await listenOnLoopback(server)
    const origin = `http://127.0.0.1:${port}`
    Object.assign(way, createBackends({ origins: [origin], userAgent: 'test' }), { origin })
    await insertCatalog(database.admin, DOCUMENTS)
  })
  beforeEach(() => {
    requests = []
    answer = properly
  })
  after(async () => {
    server.closeAllConnections()
    server.close()
    await way.close()
    await database.drop()
    nock.activate()
  })

  const embedderOf = (model = 'small') => {
    const url = `${(way as unknown as { readonly origin: string }).origin}/v1/`
    return openAiEmbedder({ url, model, key: 'sk-test' }, way)
  }
  /** Waits longer than a search of production, so that a busy machine does not time out. */
  const meaningOf = (model?: string, timeoutMs = 60_000) => {
    const log = createLog('silent', { write: () => {} })
    const embedder = embedderOf(model)
    return new SemanticRanker({ pool: database.pool, embedder, clock, log, timeoutMs })
  }
  const find = async (query: string, meaning?: SemanticRanker) =>
    (await search(database.pool, clock, { query, limit: 9 }, meaning)).hits
  const ids = async (query: string, meaning?: SemanticRanker) =>
    (await find(query, meaning)).map(({ candidate }) => candidate.id)
  const read = () => embedDocuments({ pool: database.pool, embedder: embedderOf() }, never)

  it('is off unless it is configured completely', () => {
    expect(readConfig({}).embeddings).to.equal(undefined)
    const url = 'https://models.acme.com/v1'
    const whole = { HUB_EMBEDDINGS_URL: url, HUB_EMBEDDINGS_MODEL: 'm', HUB_EMBEDDINGS_KEY: 'k' }
    expect(readConfig(whole).embeddings).to.deep.equal({ url, model: 'm', key: 'k' })
    for (const half of [{ HUB_EMBEDDINGS_URL: url }, { HUB_EMBEDDINGS_MODEL: 'm' }]) {
      expect(() => readConfig(half)).to.throw(ConfigError, 'HUB_EMBEDDINGS_MODEL')
    }
    const key = { ...whole, HUB_EMBEDDINGS_KEY: 'sk-never-in-a-log' }
    expect(readConfig(key).embeddings?.key).to.equal('sk-never-in-a-log')
    expect(secretValues(key), 'no log shows it').to.deep.equal(['sk-never-in-a-log'])
  })

  it('embeds each text once, identified by its content', async () => {
    expect(await read()).to.equal(3)
    expect(authorization).to.equal('Bearer sk-test')
    expect(requests.flatMap(({ input }) => input)).to.have.length(3)
    expect(requests[0]?.input.join()).to.include('Bank of the day: shore and flood.')
    const { admin } = database
    await admin.query(`UPDATE hub.search_document SET price = price + 1, calls = 7, delivered = 7`)
    expect(await read(), 'no embedded text has changed').to.equal(0)
    const change = `UPDATE hub.search_document SET description = $1 WHERE id = 'gamma'`
    await admin.query(change, ['Credit of the day.'])
    expect(await read()).to.equal(1)
    await admin.query(change, ['Melody of the day: song.'])
    expect(await read(), 'a text that comes back is known').to.equal(0)
    const count = async () =>
      (await database.pool.query('SELECT FROM hub.search_meaning')).rowCount ?? 0
    expect(await count()).to.equal(4)
    await deleteUnusedEmbeddings({ pool: database.pool, embedder: embedderOf() })
    expect(await count(), 'only current texts are stored').to.equal(3)
  })

  it('ranks equal meaning before equal words, and explains it', async () => {
    const meaning = meaningOf()
    expect(await ids('bank day water', meaning)).to.have.ordered.members(['beta', 'alpha', 'gamma'])
    expect(await ids('bank day money', meaning)).to.have.ordered.members(['alpha', 'beta', 'gamma'])
    const [first] = await find('bank day water', meaning)
    expect(first?.why.join()).to.match(/meaning: \d\d % alike/)
    expect(requests, 'a query is embedded once').to.have.length(2)
    expect((await ids('Gamma', meaning))[0], 'an exact name stays first').to.equal('gamma')
    expect(await ids('', meaning), 'an empty query').to.have.length(3)
  })

  it('treats documents that are not embedded yet as average', async () => {
    expect(await ids('bank day water', meaningOf('another'))).to.deep.equal(
      await ids('bank day water'),
    )
  })

  const troubles: Readonly<
    Record<string, (request: EmbeddingRequest, response: ServerResponse) => void>
  > = {
    'returns an error': (_, response) => response.writeHead(500).end('{}'),
    hangs: () => {},
    'returns something else': (_, response) => response.end('<html>'),
    'omits texts': (_, response) => response.end('{"data":[]}'),
    'returns zero vectors': (_, response) =>
      response.end('{"data":[{"index":0,"embedding":[0,0,0]}]}'),
    'returns other dimensions than before': (_, response) =>
      response.end('{"data":[{"index":0,"embedding":[1,0,0,0,0,0]}]}'),
  }
  for (const [title, trouble] of Object.entries(troubles)) {
    it(`ranks by words only if the embedding API ${title}`, async () => {
      answer = trouble
      const byWords = await ids('bank day water')
      const timeoutMs = title === 'hangs' ? 100 : undefined
      expect(await ids('bank day water', meaningOf(undefined, timeoutMs))).to.deep.equal(byWords)
    })
  }

  it('pauses for 30 seconds after the embedding API failed', async () => {
    const meaning = meaningOf()
    answer = troubles['returns an error']!
    await ids('bank day', meaning)
    answer = properly
    await ids('bank of day', meaning)
    expect(requests).to.have.length(1)
    now += 31_000
    await ids('bank of day', meaning)
    expect(requests).to.have.length(2)
  })

  it('preserves the angles between vectors in a quarter of the size', () => {
    const vector = Float32Array.from({ length: 64 }, (_, i) => Math.sin(i + 1) / 5.65)
    expect(packVector(vector)).to.have.length(64)
    expect(cosineSimilarity(vector, packVector(vector))).to.be.closeTo(1, 0.02)
    expect(cosineSimilarity(vector, packVector(vector.map((value) => -value)))).to.be.closeTo(
      -1,
      0.02,
    )
    expect(cosineSimilarity(vector, Buffer.alloc(3))).to.equal(0)
  })
})
