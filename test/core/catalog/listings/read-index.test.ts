import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import nock from 'nock'
import {
  type ReadIndexDeps,
  readIndex,
} from '../../../../core/catalog/listings/discovery/read-index.ts'
import { listSources } from '../../../../core/catalog/listings/discovery/sources.ts'
import { forget, json, openWorld, type World } from '../fixture.ts'
import { offer, PAY_TO, row } from '../rows.ts'

const INDEX = { name: 'cdp', url: 'http://index.test/discovery/resources?type=http' }
const OTHER = { name: 'payai', url: 'http://other.test/discovery/resources' }

/** An index of so many resources, which pages as CDP does: limits are rounded, offsets snap. */
const paging =
  (rows: readonly unknown[], most = 20) =>
  (url: string, response: ServerResponse): void => {
    const asked = new URL(url, 'http://x').searchParams
    const limit = Math.min(most, Number(asked.get('limit')))
    const offset = Math.floor(Number(asked.get('offset')) / limit) * limit
    const items = rows.slice(offset, offset + limit)
    json(response, { items, pagination: { limit, offset, total: rows.length }, x402Version: 2 })
  }

const rowsOf = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => row({ resource: `https://api.acme.com/r/${from + n}` }))

describe('reading an index', () => {
  let world: World
  before(async () => {
    nock.restore()
    world = await openWorld()
  })
  after(async () => {
    await world.close()
    nock.activate()
  })
  beforeEach(async () => {
    await forget(world)
    world.clear()
  })

  const read = (more: Partial<ReadIndexDeps> = {}, index = INDEX) =>
    readIndex({ ...world, retryMs: [1, 1], ...more }, index)
  const serve = (rows: readonly unknown[], most?: number): void => {
    const answer = paging(rows, most)
    world.at('index.test', ({ url }, response) => answer(url ?? '', response))
  }
  const count = async (where = 'true'): Promise<number> => {
    const { rows } = await world.pool.query<{ n: number }>(
      `SELECT count(*)::integer AS n FROM hub.listing WHERE ${where}`,
    )
    return rows[0]!.n
  }
  const refusals = async () => {
    const { rows } = await world.pool.query<{ reason: string; n: number }>(
      `SELECT reason, count(*)::integer AS n FROM hub.listing_source WHERE reason IS NOT NULL
       GROUP BY 1 ORDER BY 1`,
    )
    return Object.fromEntries(rows.map(({ reason, n }) => [reason, n]))
  }

  it('takes every row, whatever the server makes of limit and offset', async () => {
    serve(rowsOf(53), 20)
    expect(await read()).to.equal('whole')
    expect(await count()).to.equal(53)
    expect(world.visits.length).to.be.within(3, 4)
    expect(world.visits[0]).to.contain('type=http&limit=500&offset=0')
  })

  it('believes nothing of it: a listing waits for a probe, unfound', async () => {
    serve(rowsOf(1))
    await read()
    expect(
      await count(`state = 'unlisted' AND reason = 'unverified' AND listed_at IS NULL`),
    ).to.equal(1)
    expect(await count('next_probe_at <= now()')).to.equal(1)
    const { rowCount } = await world.pool.query('SELECT FROM hub.search_document')
    expect(rowCount).to.equal(0)
  })

  it('keeps every row that it refuses, with the reason and what it said', async () => {
    const bad = [
      row({ resource: 'http://localhost:3000/x' }),
      row({ accepts: [offer({ asset: 'USDC' })], resource: 'https://a.acme.com/1' }),
      row({ accepts: [offer({ network: 'peaq' })], resource: 'https://a.acme.com/2' }),
      row({ accepts: [], resource: 'https://a.acme.com/3' }),
      row({ type: 'mcp' }),
      { hello: 'world' },
      'https://api.acme.com/just-a-string',
      null,
      row({ resource: 'https://a.acme.com/\u0000', description: 'x'.repeat(10_000) }),
    ]
    serve([...rowsOf(2), ...bad])
    expect(await read()).to.equal('whole')
    expect(await count()).to.equal(2)
    expect(await refusals()).to.deep.equal({
      asset: 1,
      local_host: 1,
      malformed_url: 1,
      network: 1,
      no_offer: 1,
      no_url: 1,
      not_an_object: 2,
      not_http: 1,
    })
    const { rows } = await world.pool.query(
      `SELECT claim FROM hub.listing_source WHERE reason = 'asset'`,
    )
    expect(rows[0]).to.have.nested.property('claim.row.accepts[0].asset', 'USDC')
  })

  it('merges what two sources say of one resource: the better name stays, both count', async () => {
    const named = row({ serviceName: 'Rain', resource: 'https://API.acme.com:443/rain#x' })
    serve([named])
    const unnamed = paging([row({ description: 'Another text.' })])
    world.at('other.test', ({ url }, response) => unnamed(url ?? '', response))
    await read()
    await read({}, OTHER)
    const { rows } = await world.pool.query(
      `SELECT l.name, l.description, array_agg(s.source ORDER BY s.source) AS sources
       FROM hub.listing l JOIN hub.listing_source s ON s.listing = l.id GROUP BY l.id`,
    )
    expect(rows).to.deep.equal([
      { name: 'Rain', description: 'Tells whether it rains.', sources: ['cdp', 'payai'] },
    ])
  })

  it('writes a row that says the same again only as seen', async () => {
    serve(rowsOf(3))
    await read()
    const versions = () => world.pool.query('SELECT id, xmin::text FROM hub.listing ORDER BY id')
    const { rows: before } = await versions()
    await read()
    expect((await versions()).rows).to.deep.equal(before)
    const { rows } = await world.pool.query('SELECT DISTINCT pass FROM hub.listing_source')
    expect(rows).to.deep.equal([{ pass: 2 }])
  })

  it('wants a probe at once of what an index says otherwise, and changes nothing', async () => {
    serve(rowsOf(1))
    await read()
    await world.pool.query(
      `UPDATE hub.listing SET state = 'active', reason = NULL, last_verified_at = now(),
         next_probe_at = now() + interval '1 hour'`,
    )
    serve([row({ resource: 'https://api.acme.com/r/0', accepts: [offer({ amount: '9999' })] })])
    await read()
    expect(await count('price = 3000 AND next_probe_at <= now()')).to.equal(1)
  })

  it('marks as gone what a whole pass has not had, never what a partial one lacks', async () => {
    serve(rowsOf(3))
    await read()
    const goneCount = async () => {
      const { rowCount } = await world.pool.query('SELECT FROM hub.listing_source WHERE gone')
      return rowCount
    }
    world.at('index.test', (_, response) =>
      json(response, { resources: rowsOf(1), partialResults: true }),
    )
    expect(await read()).to.equal('partial')
    expect(await goneCount()).to.equal(0)
    serve(rowsOf(1))
    expect(await read()).to.equal('whole')
    expect(await goneCount()).to.equal(2)
    expect(await count()).to.equal(3)
  })

  it('reads bare lists, other names of the list, and envelopes', async () => {
    const bodies = [
      rowsOf(1, 10),
      { resources: rowsOf(1, 11) },
      { code: '000000', data: { items: rowsOf(1, 12), pagination: { total: 1 } }, success: true },
      { services: rowsOf(1, 13) },
    ]
    for (const [n, body] of bodies.entries()) {
      world.at('index.test', (_, response) => json(response, body))
      expect(await read({}, { ...INDEX, name: `index-${n}` })).to.equal('whole')
    }
    expect(await count()).to.equal(4)
  })

  it('follows cursors, where an index has them', async () => {
    world.at('index.test', ({ url }, response) => {
      const at = Number(new URL(url ?? '', 'http://x').searchParams.get('cursor') ?? '0')
      const nextCursor = at < 2 ? String(at + 1) : null
      json(response, { items: rowsOf(2, at * 2), pagination: { nextCursor } })
    })
    expect(await read()).to.equal('whole')
    expect(await count()).to.equal(6)
  })

  describe('stops with a reason, and keeps its place, when the server', () => {
    const stops = async (times = 1) => {
      const outcome = await read()
      expect(outcome).to.have.property('stopped').that.is.a('string')
      const [source] = await listSources(world.pool)
      expect(source).to.include({
        failures: times,
        error: (outcome as { stopped: string }).stopped,
      })
      expect(source?.nextAt.getTime()).to.be.greaterThan(Date.now())
      return source
    }
    const whole = rowsOf(53)
    /** Serves the first pages well, and everything after them as `badly` does. */
    const after = (good: number, badly: (response: ServerResponse) => unknown): void => {
      const answer = paging(whole)
      let asked = 0
      world.at('index.test', ({ url }, response) => {
        asked += 1
        if (asked <= good) answer(url ?? '', response)
        else badly(response)
      })
    }

    const bad: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
      'cuts its answer off': (response) => {
        response.writeHead(200, { 'content-length': '5000' }).write('{"items":[{"resource"')
        response.destroy()
      },
      'answers half a document': (response) => response.end('{"items":[{"resource":"https:'),
      'answers a page for people': (response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Just a moment…</h1>'),
      'answers JSON that is no list': (response) => json(response, { message: 'hi' }),
      redirects: (response) => response.writeHead(302, { location: 'http://other.test/' }).end(),
      fails: (response) => response.writeHead(500).end('boom'),
      'closes the connection': (response) => response.destroy(),
      'sends more than the hub takes': (response) =>
        response.writeHead(200).end(Buffer.alloc(17 * 1_048_576, ' ')),
      'gives the same page for ever': (response) =>
        json(response, { items: rowsOf(20, 20), pagination: { limit: 20, offset: 20, total: 53 } }),
    }
    for (const [title, badly] of Object.entries(bad)) {
      it(title, async () => {
        after(2, badly)
        const source = await stops()
        expect(await count()).to.equal(40)
        expect(source?.place).to.include({ offset: 40 })
        serve(whole)
        expect(await read()).to.equal('whole')
        expect(await count()).to.equal(53)
      })
    }

    it('asks for patience: a little is waited, for long the next run is later', async () => {
      let asked = 0
      const answer = paging(whole)
      world.at('index.test', ({ url }, response) => {
        asked += 1
        if (asked === 2) response.writeHead(429, { 'retry-after': '1' }).end()
        else if (asked < 4) answer(url ?? '', response)
        else response.writeHead(429, { 'retry-after': '7200' }).end()
      })
      const source = await stops()
      expect(source?.place).to.include({ offset: 40 })
      expect(source?.nextAt.getTime()).to.be.greaterThan(Date.now() + 7_000_000)
    })

    it('comes back with a smaller limit when a page was too much', async () => {
      const answer = paging(whole, 1_000)
      world.at('index.test', ({ url }, response) => {
        const limit = Number(new URL(url ?? '', 'http://x').searchParams.get('limit'))
        if (limit > 200) response.writeHead(502).end()
        else answer(url ?? '', response)
      })
      expect(await read()).to.equal('whole')
      expect(await count()).to.equal(53)
    })
  })

  it('goes on where its time was over', async () => {
    serve(rowsOf(53))
    expect(await read({ forMs: 0 })).to.equal('later')
    expect(await count()).to.equal(20)
    const stopped = new AbortController()
    stopped.abort()
    expect(await read({ stopping: stopped.signal })).to.equal('later')
    expect(await read()).to.equal('whole')
    expect(await count()).to.equal(53)
  })

  it('asks by its own name, and follows nobody to a private address', async () => {
    serve(rowsOf(1))
    await read()
    expect(world.last.headers['user-agent']).to.match(/^AgentHub\//)
    const inside = { name: 'inside', url: 'http://169.254.169.254/discovery' }
    expect(await read({}, inside))
      .to.have.property('stopped')
      .match(/public/)
  })

  it('notes a payee only with a good checksum', async () => {
    serve([row({ accepts: [offer({ payTo: PAY_TO.toLowerCase() })] })])
    await read()
    expect(await count(`pay_to = '${PAY_TO}'`)).to.equal(1)
  })
})
