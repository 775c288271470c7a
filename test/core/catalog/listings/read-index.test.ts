import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import {
  type ReadIndexDeps,
  readIndex,
} from '../../../../core/catalog/listings/discovery/read-index.ts'
import { listSources } from '../../../../core/catalog/listings/discovery/sources.ts'
import { json, useCatalog } from '../fixture.ts'
import { offer, PAY_TO, row } from '../rows.ts'

const INDEX = { name: 'cdp', url: 'http://index.test/discovery/resources?type=http' }
const OTHER = { name: 'payai', url: 'http://other.test/discovery/resources' }

/** Index that pages as CDP does: limits are capped, offsets rounded down. */
const paging =
  (rows: readonly unknown[], most = 20) =>
  (url: string, response: ServerResponse): void => {
    const params = new URL(url, 'http://x').searchParams
    const limit = Math.min(most, Number(params.get('limit')))
    const offset = Math.floor(Number(params.get('offset')) / limit) * limit
    const items = rows.slice(offset, offset + limit)
    json(response, { items, pagination: { limit, offset, total: rows.length }, x402Version: 2 })
  }

const rowsOf = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => row({ resource: `https://api.acme.com/r/${from + n}` }))

describe('reading an index', () => {
  const fixture = useCatalog()

  const read = (more: Partial<ReadIndexDeps> = {}, index = INDEX) =>
    readIndex({ ...fixture, retryMs: [1, 1], ...more }, index)
  const serve = (rows: readonly unknown[], most?: number): void => {
    const answer = paging(rows, most)
    fixture.at('index.test', ({ url }, response) => answer(url ?? '', response))
  }
  const count = async (where = 'true'): Promise<number> => {
    const { rows } = await fixture.pool.query<{ n: number }>(
      `SELECT count(*)::integer AS n FROM hub.listing WHERE ${where}`,
    )
    return rows[0]!.n
  }
  const refusals = async () => {
    const { rows } = await fixture.pool.query<{ reason: string; n: number }>(
      `SELECT reason, count(*)::integer AS n FROM hub.listing_source WHERE reason IS NOT NULL
       GROUP BY 1 ORDER BY 1`,
    )
    return Object.fromEntries(rows.map(({ reason, n }) => [reason, n]))
  }

  it('reads every row, however the server rounds limit and offset', async () => {
    serve(rowsOf(53), 20)
    expect(await read()).to.equal('whole')
    expect(await count()).to.equal(53)
    expect(fixture.visits.length).to.be.within(3, 4)
    expect(fixture.visits[0]).to.contain('type=http&limit=500&offset=0')
  })

  it('lists nothing before a probe has verified it', async () => {
    serve(rowsOf(1))
    await read()
    expect(
      await count(`state = 'unlisted' AND reason = 'unverified' AND listed_at IS NULL`),
    ).to.equal(1)
    expect(await count('next_probe_at <= now()')).to.equal(1)
    const { rowCount } = await fixture.pool.query('SELECT FROM hub.search_document')
    expect(rowCount).to.equal(0)
  })

  it('stores every refused row with its reason and content', async () => {
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
    const { rows } = await fixture.pool.query(
      `SELECT claim FROM hub.listing_source WHERE reason = 'asset'`,
    )
    expect(rows[0]).to.have.nested.property('claim.row.accepts[0].asset', 'USDC')
  })

  it('merges two sources of one resource, and keeps the better name', async () => {
    const named = row({ serviceName: 'Rain', resource: 'https://API.acme.com:443/rain#x' })
    serve([named])
    const unnamed = paging([row({ description: 'Another text.' })])
    fixture.at('other.test', ({ url }, response) => unnamed(url ?? '', response))
    await read()
    await read({}, OTHER)
    const { rows } = await fixture.pool.query(
      `SELECT l.name, l.description, array_agg(s.source ORDER BY s.source) AS sources
       FROM hub.listing l JOIN hub.listing_source s ON s.listing = l.id GROUP BY l.id`,
    )
    expect(rows).to.deep.equal([
      { name: 'Rain', description: 'Tells whether it rains.', sources: ['cdp', 'payai'] },
    ])
  })

  it('updates only the date of an unchanged row', async () => {
    serve(rowsOf(3))
    await read()
    const versions = () => fixture.pool.query('SELECT id, xmin::text FROM hub.listing ORDER BY id')
    const { rows: before } = await versions()
    await read()
    expect((await versions()).rows).to.deep.equal(before)
    const { rows } = await fixture.pool.query('SELECT DISTINCT pass FROM hub.listing_source')
    expect(rows).to.deep.equal([{ pass: 2 }])
  })

  it('makes a probe due if an index differs, and changes nothing else', async () => {
    serve(rowsOf(1))
    await read()
    await fixture.pool.query(
      `UPDATE hub.listing SET state = 'active', reason = NULL, last_verified_at = now(),
         next_probe_at = now() + interval '1 hour'`,
    )
    serve([row({ resource: 'https://api.acme.com/r/0', accepts: [offer({ amount: '9999' })] })])
    await read()
    expect(await count('price = 3000 AND next_probe_at <= now()')).to.equal(1)
  })

  it('marks rows as gone only after a complete pass without them', async () => {
    serve(rowsOf(3))
    await read()
    const goneCount = async () => {
      const { rowCount } = await fixture.pool.query('SELECT FROM hub.listing_source WHERE gone')
      return rowCount
    }
    fixture.at('index.test', (_, response) =>
      json(response, { resources: rowsOf(1), partialResults: true }),
    )
    expect(await read()).to.equal('partial')
    expect(await goneCount()).to.equal(0)
    serve(rowsOf(1))
    expect(await read()).to.equal('whole')
    expect(await goneCount()).to.equal(2)
    expect(await count()).to.equal(3)
  })

  it('reads bare lists, lists under other names, and envelopes', async () => {
    const bodies = [
      rowsOf(1, 10),
      { resources: rowsOf(1, 11) },
      { code: '000000', data: { items: rowsOf(1, 12), pagination: { total: 1 } }, success: true },
      { services: rowsOf(1, 13) },
    ]
    for (const [n, body] of bodies.entries()) {
      fixture.at('index.test', (_, response) => json(response, body))
      expect(await read({}, { ...INDEX, name: `index-${n}` })).to.equal('whole')
    }
    expect(await count()).to.equal(4)
  })

  it('follows the cursors of an index', async () => {
    fixture.at('index.test', ({ url }, response) => {
      const at = Number(new URL(url ?? '', 'http://x').searchParams.get('cursor') ?? '0')
      const nextCursor = at < 2 ? String(at + 1) : null
      json(response, { items: rowsOf(2, at * 2), pagination: { nextCursor } })
    })
    expect(await read()).to.equal('whole')
    expect(await count()).to.equal(6)
  })

  describe('stops with a reason and keeps its place when the server', () => {
    const stops = async (times = 1) => {
      const outcome = await read()
      expect(outcome).to.have.property('stopped').that.is.a('string')
      const [source] = await listSources(fixture.pool)
      expect(source).to.include({
        failures: times,
        error: (outcome as { stopped: string }).stopped,
      })
      expect(source?.nextAt.getTime()).to.be.greaterThan(Date.now())
      return source
    }
    const whole = rowsOf(53)
    /** Serves the first pages correctly, and the following ones by `badly`. */
    const after = (good: number, badly: (response: ServerResponse) => unknown): void => {
      const answer = paging(whole)
      let requestCount = 0
      fixture.at('index.test', ({ url }, response) => {
        requestCount += 1
        if (requestCount <= good) answer(url ?? '', response)
        else badly(response)
      })
    }

    const bad: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
      'cuts off its response': (response) => {
        response.writeHead(200, { 'content-length': '5000' }).write('{"items":[{"resource"')
        response.destroy()
      },
      'returns half a document': (response) => response.end('{"items":[{"resource":"https:'),
      'returns an HTML page': (response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Just a moment…</h1>'),
      'returns JSON without a list': (response) => json(response, { message: 'hi' }),
      redirects: (response) => response.writeHead(302, { location: 'http://other.test/' }).end(),
      fails: (response) => response.writeHead(500).end('boom'),
      'closes the connection': (response) => response.destroy(),
      'sends a too large response': (response) =>
        response.writeHead(200).end(Buffer.alloc(17 * 1_048_576, ' ')),
      'returns the same page forever': (response) =>
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

    it('limits the rate: waits briefly, but leaves a long wait to a later run', async () => {
      let requestCount = 0
      const answer = paging(whole)
      fixture.at('index.test', ({ url }, response) => {
        requestCount += 1
        if (requestCount === 2) response.writeHead(429, { 'retry-after': '1' }).end()
        else if (requestCount < 4) answer(url ?? '', response)
        else response.writeHead(429, { 'retry-after': '7200' }).end()
      })
      const source = await stops()
      expect(source?.place).to.include({ offset: 40 })
      expect(source?.nextAt.getTime()).to.be.greaterThan(Date.now() + 7_000_000)
    })

    it('requests fewer rows after a page has failed', async () => {
      const answer = paging(whole, 1_000)
      fixture.at('index.test', ({ url }, response) => {
        const limit = Number(new URL(url ?? '', 'http://x').searchParams.get('limit'))
        if (limit > 200) response.writeHead(502).end()
        else answer(url ?? '', response)
      })
      expect(await read()).to.equal('whole')
      expect(await count()).to.equal(53)
    })
  })

  it('continues where its time was up', async () => {
    serve(rowsOf(53))
    expect(await read({ forMs: 0 })).to.equal('later')
    expect(await count()).to.equal(20)
    const stopped = new AbortController()
    stopped.abort()
    expect(await read({ stopping: stopped.signal })).to.equal('later')
    expect(await read()).to.equal('whole')
    expect(await count()).to.equal(53)
  })

  it('sends its name, and never connects to a private address', async () => {
    serve(rowsOf(1))
    await read()
    expect(fixture.last.headers['user-agent']).to.match(/^AgentHub\//)
    const inside = { name: 'inside', url: 'http://169.254.169.254/discovery' }
    expect(await read({}, inside))
      .to.have.property('stopped')
      .match(/public/)
  })

  it('stores payees with their checksum', async () => {
    serve([row({ accepts: [offer({ payTo: PAY_TO.toLowerCase() })] })])
    await read()
    expect(await count(`pay_to = '${PAY_TO}'`)).to.equal(1)
  })
})
