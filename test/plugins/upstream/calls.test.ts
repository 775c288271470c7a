import { expect } from 'chai'
import { askRaw } from '../../support/ask.ts'
import { json, useUpstream } from './fixture.ts'
import { itIsMetered } from './metered-calls.ts'

/** Response headers that would speak for the hub or affect its whole origin in a browser. */
const FORGED = ['idempotency-replayed', 'nel', 'report-to']

describe('an imported API', () => {
  const world = useUpstream()
  const { answers, seen, sell, call, act } = world
  const balance = () => world.hub.balance(world.payer.keyId)

  it('receives path, query and body, and earns nine tenths', async () => {
    answers(json({ ok: true }))
    const slug = await sell([
      {
        method: 'PUT',
        path: '/cities/{city}/notes/{n}',
        upstream_path: '/v3/{n}/of/{city}',
        query: ['lang', 'tags'],
        input_schema: {
          type: 'object',
          properties: {
            n: { type: 'integer' },
            lang: { type: 'string' },
            tags: { type: 'array', items: { type: 'string' } },
            text: { type: 'string' },
          },
          required: ['text'],
          additionalProperties: false,
        },
      },
    ])
    const before = await balance()
    const { status, body, text } = await call(
      slug,
      '/cities/S%C3%A3o%20Paulo/notes/7?lang=pt&tags=a&tags=b',
      {
        method: 'PUT',
        body: { text: 'olá' },
      },
    )
    expect([status, body], text).to.deep.equal([200, { ok: true }])
    expect(seen[0]).to.include({
      method: 'PUT',
      url: '/base/v3/7/of/S%C3%A3o%20Paulo?lang=pt&tags=a&tags=b',
      body: '{"text":"olá"}',
    })
    expect(before - (await balance())).to.equal(1_000n)
    const { provider } = await world.view(slug)
    const { rows } = await world.hub.database.admin.query<{ balance: bigint }>(
      `SELECT sum(b.balance)::bigint AS balance FROM ledger.balance b
       JOIN ledger.account a ON a.id = b.account WHERE a.code = $1`,
      [`liabilities:providers:${String(provider)}:${slug}`],
    )
    expect(rows[0]?.balance).to.equal(900n)
    const wrong = await call(slug, '/cities/x/notes/seven', { method: 'PUT', body: { text: '' } })
    expect([wrong.status, wrong.body['code']]).to.deep.equal([422, 'validation_failed'])
    const other = await call(slug, '/cities/x/notes/7')
    expect([other.status, other.headers['allow']]).to.deep.equal([405, 'PUT'])
    const literal = await call(slug, '/cities/{city}/notes/{n}', {
      method: 'PUT',
      body: { city: 'Oslo', n: 1, text: '' },
    })
    expect(literal.status, literal.text).to.equal(200)
    expect(seen.at(-1)?.url).to.equal('/base/v3/1/of/Oslo')
  })

  it('sees no key, cookie, payment or address (A018), only what its provider adds', async () => {
    answers((_, response) => {
      response.setHeader('Set-Cookie', 'a=b').setHeader('X-Own', '1').setHeader('X-Kept', '2')
      response.setHeader('Content-Security-Policy', '*').setHeader('Clear-Site-Data', '"*"')
      for (const name of FORGED) response.setHeader(name, 'forged')
      response.setHeader('X-Charged-Microdollars', '0').end('{}')
    })
    const slug = await sell([{ method: 'GET', path: '/x' }], {
      request_headers: ['X-Lang'],
      response_headers: ['X-Own'],
    })
    await world.hub.database.admin.query(
      `UPDATE hub.upstream SET response_headers = $2 WHERE slug = $1`, // as some were before
      [slug, ['x-own', 'content-security-policy', 'clear-site-data', ...FORGED]],
    )
    const value = 'Bearer top-secret-value'
    const replacement = await world.send('PUT', `/v1/provider/services/${slug}/secret`, {
      secrets: [
        { in: 'header', name: 'Authorization', value },
        { in: 'query', name: 'key', value: 'query-secret' },
      ],
    })
    expect(replacement.status, replacement.text).to.equal(200)
    const headers = {
      cookie: 'a=b',
      'x-forwarded-for': '1.2.3.4',
      'payment-signature': 'x',
      'idempotency-key': 'mine',
      'x-hop': '1',
      'x-lang': 'pt',
      'accept-language': 'pt',
      'x-unlisted': '1',
    }
    const answer = await call(slug, '/x?key=forged&q=1', { headers })
    expect(answer.status, answer.text).to.equal(200)
    expect(answer.headers).to.include({ 'x-own': '1', 'x-charged-microdollars': '1000' })
    const not = ['set-cookie', 'x-kept', 'clear-site-data', ...FORGED]
    expect(answer.headers).not.to.have.any.keys(...not)
    expect(answer.headers['content-security-policy']).to.equal("default-src 'none'; sandbox")
    const [request] = seen
    expect(request?.headers).to.include({
      authorization: value,
      'x-lang': 'pt',
      'accept-language': 'pt',
    })
    expect(request?.url).to.equal('/base/x?q=1&key=query-secret')
    expect(request?.headers).not.to.have.any.keys(
      'cookie',
      'x-forwarded-for',
      'payment-signature',
      'x-hop',
      'x-unlisted',
      'x-api-key',
      'idempotency-key',
    )
    expect(JSON.stringify(request?.headers)).not.to.include('ahk_')
    const text = JSON.stringify(await world.view(slug))
    expect(text).not.to.include('secret-value').and.not.to.include('query-secret')
    expect(world.hub.logged()).not.to.include('top-secret-value')
    const { rows } = await world.hub.database.admin.query<{ row: string }>(
      'SELECT s::text AS row FROM hub.upstream_secret s',
    )
    for (const { row } of rows) {
      expect(row).not.to.include(Buffer.from('secret-value').toString('hex'))
    }
  })

  it('cannot be called outside its base path (A028)', async () => {
    answers(json({}))
    const slug = await sell([{ method: 'GET', path: '/items/{id}' }])
    const before = await balance()
    const key = `Authorization: Bearer ${world.payer.apiKey}`
    for (const path of ['/items/../admin', '/items/%2e%2e', '/items/a%2fb', '/items/%252e%252e']) {
      const raw = await askRaw(world.hub.url, [`GET /proxy/${slug}${path} HTTP/1.1`, key])
      expect(raw.split('\r\n')[0], path).to.equal('HTTP/1.1 400 Bad Request')
      expect(raw).to.include('malformed_path')
    }
    for (const id of ['..', '.', '', 'a/b', 'a\\b', '%2e%2e', 'x%2Fy', '\u0000', '\ud800']) {
      const { body } = await act(slug, 'test', { endpoint: 'GET /items/{id}', input: { id } })
      expect(body['delivered'], id).not.to.equal(true)
      await world.hub.database.admin.query('UPDATE hub.upstream SET tested_at = NULL')
    }
    expect(seen).to.deep.equal([])
    expect(await balance()).to.equal(before)
  })

  it('is charged exactly as its charge policy says (A068)', async () => {
    const slug = await sell(
      [
        {
          path: '/do',
          success: [200],
          passes: [404],
          output_schema: {
            type: 'object',
            properties: { n: { type: 'integer' } },
            required: ['n'],
          },
        },
      ],
      { free_calls_per_month: 1 },
    )
    const cases = [
      [500, '{"e":1}', 502, 'upstream_error', 'upstream_error'],
      [429, '{}', 502, 'upstream_error', 'upstream_error'],
      [201, '{"n":1}', 502, 'upstream_error', 'upstream_error'],
      [200, '', 502, 'upstream_error', 'upstream_error'],
      [200, 'not json', 502, 'upstream_error', 'upstream_error'],
      [200, '{"n":"x"}', 502, 'plugin_failed', 'output_schema'],
      [302, '', 502, 'upstream_redirect', 'upstream_redirect'],
      [404, '{"none":true}', 404, undefined, 'status_404'],
    ] as const
    for (const source of ['free', 'credits']) {
      const before = await balance()
      for (const [status, text, responseStatus, code, reason] of cases) {
        answers((_, response) => void response.writeHead(status, { location: '/x' }).end(text))
        const answer = await call(slug, '/do', { body: {} })
        expect([answer.status, answer.body['code']], answer.text).to.deep.equal([
          responseStatus,
          code,
        ])
        expect(answer.headers['x-refund-reason'], text).to.equal(reason)
      }
      expect(await balance(), source).to.equal(before)
      answers(json({ n: 1 }))
      const good = await call(slug, '/do', { body: {} })
      expect(good.headers['x-payment-source'], 'the free call came back').to.equal(source)
    }
  })

  it('is limited to its deadline (A042) and its maximum bytes (A041)', async () => {
    const slug = await sell([{ path: '/do', deadline_seconds: 1, max_bytes: 2_048 }])
    const before = await balance()
    answers(() => undefined)
    const late = await call(slug, '/do', { body: {} })
    expect([late.status, late.body['code']]).to.deep.equal([504, 'upstream_timeout'])
    answers((_, response) => {
      const more = (): boolean => response.destroyed || (response.write('x'.repeat(512)) && more())
      response.on('drain', more)
      more()
    })
    const endless = await call(slug, '/do', { body: {} })
    expect([endless.status, endless.body['code']]).to.deep.equal([502, 'upstream_too_large'])
    answers((_, response) => void response.socket?.destroy())
    const broken = await call(slug, '/do', { body: {} })
    expect([broken.status, broken.body['code']]).to.deep.equal([502, 'upstream_unreachable'])
    expect(seen, 'a POST is asked once').to.have.length(1)
    expect(await balance()).to.equal(before)
  })

  it('is retried only if repeating is harmless', async () => {
    const slug = await sell([
      { method: 'GET', path: '/get' },
      { path: '/once' },
      { path: '/again', idempotent: true, retries: 2 },
    ])
    let left = 0
    answers((_, response) => {
      if (left-- > 0) response.writeHead(503).end('busy')
      else response.end('{}')
    })
    const tries = async (failures: number, path: string, body?: unknown) => {
      left = failures
      seen.length = 0
      const { status } = await call(slug, path, { ...(body !== undefined && { body }) })
      return [status, seen.length]
    }
    expect(await tries(1, '/get')).to.deep.equal([200, 2])
    expect(await tries(2, '/get')).to.deep.equal([502, 2])
    expect(await tries(1, '/once', {})).to.deep.equal([502, 1])
    expect(await tries(2, '/again', {})).to.deep.equal([200, 3])
    const names = new Set(seen.map(({ headers }) => headers['idempotency-key']))
    expect([...names], 'by the same name each time').to.have.length(1)
    expect([...names][0]).to.match(/^[0-9a-f-]{36}$/)
  })

  it('streams its response from the first byte, charged at its end', async () => {
    answers((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
      setTimeout(() => response.end('data: 2\n\n'), 50)
    })
    const slug = await sell([{ path: '/events', streams: true }])
    const before = await balance()
    const reply = await call(slug, '/events', { body: {} })
    expect([reply.status, reply.text]).to.deep.equal([200, 'data: 1\n\ndata: 2\n\n'])
    expect(reply.headers['x-reserved-microdollars']).to.equal('1000')
    expect(before - (await balance())).to.equal(1_000n)
    answers((_, response) => {
      response.writeHead(200).write('data: 1\n\n')
      setTimeout(() => response.socket?.destroy(), 50)
    })
    const cut = await call(slug, '/events', { body: {} }).catch((error: Error) => error)
    expect(cut).to.be.instanceOf(Error)
    expect(before - (await balance()), 'what breaks off costs nothing').to.equal(1_000n)
  })

  it('receives forms if its body is one', async () => {
    answers(json({}))
    const slug = await sell([
      {
        path: '/form',
        body: 'form',
        query: ['v'],
        input_schema: {
          type: 'object',
          properties: { v: { type: 'integer' } },
          additionalProperties: true,
        },
      },
    ])
    const { status, text } = await call(slug, '/form', { body: { v: 2, a: 'x y', list: [1, 2] } })
    expect(status, text).to.equal(200)
    expect(seen[0]).to.include({ url: '/base/form?v=2', body: 'a=x+y&list=1&list=2' })
    expect(seen[0]?.headers['content-type']).to.equal('application/x-www-form-urlencoded')
  })

  describe('with a metered price', () => itIsMetered(world))
})
