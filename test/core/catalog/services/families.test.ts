import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { openCatalog } from '../../../../core/catalog/services/catalog.ts'
import { elapsedMs } from '../../../../core/clock.ts'
import { Ledger } from '../../../../core/ledger/ledger.ts'
import {
  type AnyService,
  type Database,
  type DataPlugin,
  defineService,
  micros,
  s,
  usd,
} from '../../../../core/plugin/index.ts'
import { setCommission } from '../../../../core/usage/commission.ts'
import { ask } from '../../../support/ask.ts'
import { useHub } from '../../../support/suite.ts'

interface Stall {
  readonly slug: string
  readonly price: bigint
  readonly words: string
}

/** A service that returns the words of its stall. */
const serviceOf = ({ slug, price, words }: Stall): AnyService =>
  defineService({
    slug,
    name: `Stall ${slug}`,
    category: 'market',
    summary: `Cries ${words}.`,
    provider: 'example',
    endpoints: {
      'POST /cry': {
        summary: 'Cries.',
        price: micros(price),
        input: s.object({}),
        handle: () => ({ words }),
      },
      'POST /whisper': {
        summary: 'Whispers.',
        price: micros(price),
        input: { json: { type: 'no such type' } },
        handle: () => ({ words }),
      },
    },
  })

const PAGE = 2

describe('services of a family', () => {
  let database: Database
  let finds = 0
  const market = (folder: string): DataPlugin => ({
    slug: 'market',
    migrations: pathToFileURL(`${folder}/`),
    open: (host) => {
      database = host.database
      return {
        family: 'market',
        find: async (slug) => {
          finds += 1
          const { rows } = await database.query<Stall>('SELECT * FROM stall WHERE slug = $1', [
            slug,
          ])
          return rows[0] && serviceOf(rows[0])
        },
        list: async (after) => {
          const { rows } = await database.query<Stall>(
            `SELECT * FROM stall WHERE slug > $1 ORDER BY slug LIMIT ${PAGE}`,
            [after],
          )
          return rows.map(serviceOf)
        },
      }
    },
  })

  let folder: string
  const hub = useHub(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    await writeFile(
      join(folder, '0001_stall.sql'),
      'CREATE TABLE stall (slug text PRIMARY KEY, price bigint NOT NULL, words text NOT NULL)',
    )
    return { plugins: [market(folder)] }
  })
  let key: string
  before(async () => {
    const agent = await hub().agent()
    await hub().credit(agent.keyId, usd('1'))
    key = agent.apiKey
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const open = (slug: string, price = 100n, words = 'fish') =>
    database.query(
      `INSERT INTO stall VALUES ($1, $2, $3)
       ON CONFLICT (slug) DO UPDATE SET price = $2, words = $3`,
      [slug, price, words],
    )
  const close = (slug: string) => database.query('DELETE FROM stall WHERE slug = $1', [slug])
  const cry = (slug: string) => ask(hub().url, `/proxy/${slug}/cry`, { key, body: {} })
  const listed = async (slug: string) => (await ask(hub().url, `/v1/services/${slug}`)).status
  const found = async (query: string) => {
    const { body } = await ask(hub().url, '/v1/search', { key, body: { query } })
    return (body['data'] as { slug?: string }[]).map(({ slug }) => slug)
  }
  const catalog = () => hub().hub.catalog

  it('are sold, listed, found and described as soon as they are refreshed', async () => {
    await open('fishmonger', 250n, 'halibut')
    expect((await cry('fishmonger')).body['code']).to.equal('service_not_found')
    await catalog().refresh('fishmonger')
    const sold = await cry('fishmonger')
    expect([sold.status, sold.body['words']]).to.deep.equal([200, 'halibut'])
    expect(sold.headers['x-charged-microdollars']).to.equal('250')
    expect(await listed('fishmonger')).to.equal(200)
    expect(await found('halibut')).to.deep.equal(['fishmonger'])
    const { body } = await ask(hub().url, '/openapi.json')
    expect(body['paths']).to.have.property('/proxy/fishmonger/cry')
    const own = await ask(hub().url, '/v1/services/fishmonger/openapi.json')
    const paths = ['/proxy/fishmonger/cry', '/proxy/fishmonger/whisper']
    expect(Object.keys(own.body['paths'] as object)).to.deep.equal(paths)
    expect(await hub().hub.ledger.balance('liabilities:providers:example:fishmonger')).to.equal(
      225n,
    )
  })

  it('compile each schema at its first call: an invalid one breaks only its endpoint', async () => {
    await open('whisperer')
    await catalog().refresh('whisperer')
    const wrong = await ask(hub().url, '/proxy/whisperer/whisper', { key, body: {} })
    expect([wrong.status, wrong.body['charged_microdollars']]).to.deep.equal([500, 0])
    expect((await cry('whisperer')).status).to.equal(200)
  })

  it('get a new price version within a second of a change', async () => {
    await open('baker', 100n)
    await catalog().refresh('baker')
    expect((await cry('baker')).headers['x-charged-microdollars']).to.equal('100')
    await open('baker', 300n)
    hub().advanceCaches(1_000)
    expect((await cry('baker')).headers['x-charged-microdollars']).to.equal('300')
    const { body } = await ask(hub().url, '/v1/services/baker')
    const [endpoint] = body['endpoints'] as { price_microdollars: number; price_version: number }[]
    expect(endpoint).to.include({ price_microdollars: 300, price_version: 2 })
  })

  it('are reread at most once a second, however often they are called', async () => {
    await open('grocer')
    await catalog().refresh('grocer')
    const [before, start] = [finds, elapsedMs()]
    await Promise.all(Array.from({ length: 30 }, () => cry('grocer')))
    expect(finds - before).to.be.at.most(2 + Math.floor((elapsedMs() - start) / 1_000))
  })

  it('are refused and unlisted once they are removed', async () => {
    await open('tinker', 100n, 'kettles')
    await catalog().refresh('tinker')
    await close('tinker')
    await catalog().refresh('tinker')
    expect((await cry('tinker')).body['code']).to.equal('service_not_found')
    expect(await listed('tinker')).to.equal(404)
    expect(await found('kettles')).to.deep.equal([])
    await open('tinker', 100n, 'kettles')
    await catalog().refresh('tinker')
    expect((await cry('tinker')).status, 'it can be sold again').to.equal(200)
  })

  it('are found by the job without a refresh, over all pages', async () => {
    const slugs = ['quiet-a', 'quiet-b', 'quiet-c', 'quiet-d', 'quiet-e']
    for (const slug of slugs) await open(slug)
    await catalog().refreshAll()
    for (const slug of slugs) expect(await listed(slug), slug).to.equal(200)
    await close('quiet-c')
    await close('quiet-e')
    await catalog().refreshAll()
    const left = await Promise.all(slugs.map(listed))
    expect(left).to.deep.equal([200, 200, 404, 200, 404])
  })

  it('write nothing while they are unchanged', async () => {
    const stamps = () =>
      hub().database.admin.query('SELECT slug, xmin::text FROM hub.service ORDER BY slug')
    const before = (await stamps()).rows
    await catalog().refreshAll()
    hub().advanceCaches(1_000)
    await cry('baker')
    expect((await stamps()).rows).to.deep.equal(before)
  })

  it('never take the slug of a service, nor lose theirs to one', async () => {
    await open('echo', 1n)
    const refused = await catalog()
      .refresh('echo')
      .catch((error: Error) => error.message)
    expect(refused).to.equal('service echo: the slug is taken')
    await close('echo')
    const { pool } = hub().hub
    const taking = openCatalog(pool, new Ledger(pool), {
      services: [serviceOf({ slug: 'baker', price: 1n, words: 'nothing' })],
      families: [],
      passThrough: new Set(),
      defaultCommissionBps: 1_000,
    })
    const failed = await taking.catch((error: Error) => error.message)
    expect(failed).to.equal('service baker: the slug is taken')
    expect((await cry('baker')).status, 'and nothing was changed').to.equal(200)
  })

  it('earn by the commission in force', async () => {
    const earned = () => hub().hub.ledger.balance('liabilities:providers:example:grocer')
    const rule = { provider: 'example', service: 'grocer', bps: 5_000 }
    await setCommission(hub().hub.pool, { ...rule, author: 'finance', reason: 'agreed' })
    hub().advanceCaches(1_000)
    const before = await earned()
    expect((await cry('grocer')).status).to.equal(200)
    expect((await earned()) - before).to.equal(50n)
  })

  it('are read by indexes, however many there are', async () => {
    const client = await hub().database.admin.connect()
    await client.query('BEGIN')
    await client.query(
      `INSERT INTO hub.service (slug, name, category, summary, provider, free_calls_per_month,
         state, family) SELECT 'many-' || n, 'Many', 'market', 'Many.', 'example', 0, 'active',
         'market' FROM generate_series(1, 20000) n`,
    )
    await client.query('ANALYZE hub.service')
    const plans: string[] = []
    for (const text of [
      `SELECT slug, digest FROM hub.service WHERE family = 'market' AND state = 'active'
           AND slug > 'many-500' AND slug <= 'many-600'`,
      `SELECT * FROM hub.service s JOIN hub.provider p ON p.id = s.provider
         WHERE s.slug = 'many-77' AND s.family IS NOT NULL`,
      `SELECT * FROM hub.service WHERE state = 'active' AND category = 'test' AND slug > ''
         ORDER BY slug LIMIT 20`,
    ]) {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`)
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
    }
    await client.query('ROLLBACK')
    client.release()
    for (const plan of plans) expect(plan).not.to.match(/Seq Scan on service/)
  })
})
