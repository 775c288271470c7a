import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { Failure } from 'agenthub/plugin'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { sleep } from '../../../core/clock.ts'
import { containsSecret, guardSecrets } from '../../../plugins/upstream/secrets.ts'
import { json, useUpstream } from './fixture.ts'

/** Reads a stream; returns its content and error. */
async function read(source: Readable): Promise<{ text: string; error: unknown }> {
  let text = ''
  try {
    for await (const chunk of source) text += String(chunk)
    return { text, error: undefined }
  } catch (error) {
    return { text, error }
  }
}

describe('the upstream credential of an API', () => {
  const world = useUpstream()
  const { act, answers, sell, call, seen, send } = world
  const balance = () => world.hub.balance(world.payer.keyId)
  const inject = (slug: string, value: string) =>
    send('PUT', `/v1/provider/services/${slug}/secret`, {
      secrets: [{ in: 'header', name: 'X-Token', value }],
    })

  it('is never shown, whatever its API returns', async () => {
    const slug = await sell([
      { path: '/do', passes: [400], input_schema: { type: 'object', additionalProperties: true } },
    ])
    const secrets = [{ in: 'header', name: 'X-Token', value: 'token-of-acme-9' }]
    await send('PUT', `/v1/provider/services/${slug}/secret`, { secrets })
    for (const status of [200, 400, 500]) {
      answers(
        (request, response) => void response.writeHead(status).end(JSON.stringify(request.headers)),
      )
      const reply = await call(slug, '/do', { body: {} })
      expect([reply.status, reply.body['code']], reply.text).to.deep.equal([502, 'upstream_error'])
      expect(reply.text).not.to.include('token-of-acme-9')
    }
    const [plain, basic] = ['a+b/c=d&e "9"', 'acme:secret "9"']
    const other = [
      { in: 'header', name: 'Authorization', value: `Basic ${btoa(basic)}` },
      { in: 'query', name: 'key', value: plain },
    ]
    await send('PUT', `/v1/provider/services/${slug}/secret`, { secrets: other })
    const form = new URLSearchParams({ a: plain }).toString()
    const written = JSON.stringify({ a: plain })
    const url = encodeURIComponent(plain)
    const spelt = [plain, form, url, written, basic, btoa(basic)]
    spelt.push(url.replaceAll(/%../g, (hex) => hex.toLowerCase()))
    spelt.push('{"php":"a+b\\/c=d&e \\"9\\""}', '{"go":"a+b/c=d\\u0026e \\"9\\""}')
    spelt.push('{"net":"a\\u002Bb/c=d\\u0026e \\u00229\\u0022"}')
    for (const text of spelt) {
      answers((_, response) => void response.setHeader('Link', `<${text}>`).end('{}'))
      expect((await call(slug, '/do', { body: {} })).status, text).to.equal(502)
      answers((_, response) => void response.end(text))
      expect((await call(slug, '/do', { body: {} })).status, text).to.equal(502)
    }
  })

  it('is found in every common encoding, at any offset (A107)', () => {
    const value = 'Bearer k3y+of/acme=ü9'
    const injected = [{ place: 'header', name: 'authorization', value }] as const
    const bare = 'k3y+of/acme=ü9'
    const hex = Buffer.from(bare).toString('hex')
    const codes = Array.from(bare, (char) => char.codePointAt(0)!)
    const spellings = [
      bare,
      Array.from(bare).toReversed().join(''),
      hex,
      hex.toUpperCase(),
      hex.replaceAll(/../g, '%$&'),
      hex.toUpperCase().replaceAll(/../g, '%$&'),
      hex.replaceAll(/../g, '\\x$&'),
      codes.map((code) => `&#${code};`).join(''),
      codes.map((code) => `&#x${code.toString(16)};`).join(''),
      codes.map((code) => `\\u${code.toString(16).padStart(4, '0')}`).join(''),
      ...['', 'a', 'ab', '{"token":"'].flatMap((before) => {
        const bytes = Buffer.from(`${before}${bare}"}`)
        return [bytes.toString('base64'), bytes.toString('base64url')]
      }),
      Buffer.from(`x:${value}`).toString('base64'),
    ]
    for (const text of spellings) {
      const body = Buffer.from(`{"debug":"${text}"}`)
      expect(containsSecret(injected, body), text).to.equal(true)
    }
    for (const text of [bare.slice(1), Buffer.from(bare.slice(0, -3)).toString('base64')])
      expect(containsSecret(injected, text), text).to.equal(false)
  })

  it('is required before an API is sold whose document declares one', async () => {
    answers(json({}))
    const get = (more: object = {}) => ({ get: { responses: {}, ...more } })
    const bring = (slug: string, paths: object) =>
      send('POST', '/v1/provider/services/import', {
        openapi: JSON.stringify({
          openapi: '3.1.0',
          servers: [{ url: world.origin }],
          components: { securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'k' } } },
          security: [{ key: [] }],
          paths,
        }),
        slug,
        price_microdollars: 500,
      })
    const state = async (slug: string) => (await world.view(slug))['state']
    const secret = (slug: string, ...values: string[]) =>
      send('PUT', `/v1/provider/services/${slug}/secret`, {
        secrets: values.map((value) => ({ in: 'query', name: 'k', value })),
      })
    const missing = [{ kind: 'secret', what: 'a secret: query k' }]
    await bring('locked', { '/mine': get(), '/open': get({ security: [] }) })
    const tests = ['/mine', '/open'].map((path) => {
      return { kind: 'test', what: `a passing test call of GET ${path}` }
    })
    expect((await world.view('locked'))['missing']).to.have.deep.members([...missing, ...tests])
    const refused = await act('locked', 'activate')
    expect([refused.status, refused.body['code']]).to.deep.equal([409, 'service_incomplete'])
    expect(refused.body['missing']).to.deep.equal(missing)
    expect(await state('locked')).to.equal('draft')
    await secret('locked', 'sesame')
    expect((await act('locked', 'activate')).body['state']).to.equal('active')
    const response = await secret('locked')
    expect([response.status, response.body['code']]).to.deep.equal([409, 'service_incomplete'])
    expect((await call('locked', '/mine')).status).to.equal(200)
    expect(seen.at(-1)?.url, 'it has it still').to.equal('/mine?k=sesame')
    const moved = { base_url: 'https://api.agenthub-test.com/v1' }
    const { body, text } = await send('PATCH', '/v1/provider/services/locked', moved)
    expect(body, text).to.include({ state: 'paused' })

    await bring('ajar', {
      '/mine': get({ security: [{ key: [] }, {}] }),
      '/b': get({ security: [] }),
    })
    expect((await act('ajar', 'activate')).body['state'], 'a key is optional').to.equal('active')
  })

  it('never appears in a stream, wherever its chunks end; all other bytes pass', () => {
    const secret = fc.array(fc.constantFrom('a', 'b'), { minLength: 8, maxLength: 12 })
    const piece = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 9 })
    return fc.assert(
      fc.asyncProperty(
        secret,
        fc.array(piece, { maxLength: 20 }),
        fc.boolean(),
        async (...given) => {
          const value = given[0].join('')
          const plain = given[1].map((each) => each.join(''))
          const chunks = given[2] ? [...plain, value.slice(0, 5), value.slice(5), 'end'] : plain
          const whole = chunks.join('')
          const injected = [{ place: 'header', name: 'x', value }] as const
          const { text, error } = await read(guardSecrets(Readable.from(chunks), injected))
          const starts = [value, given[0].toReversed().join('')]
            .map((spelling) => whole.indexOf(spelling))
            .filter((at) => at !== -1)
          if (starts.length === 0) expect([text, error]).to.deep.equal([whole, undefined])
          else {
            expect(error).to.be.instanceOf(Failure)
            const before = whole.slice(0, Math.min(...starts))
            expect(before.startsWith(text), `${text} of ${whole}`).to.equal(true)
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  it('delays no more of a stream than may be its beginning', async () => {
    const injected = [{ place: 'header', name: 'x', value: 'token-of-acme' }] as const
    const source = new Readable({ read: () => undefined })
    const out = guardSecrets(source, injected)
    const seen: string[] = []
    out.on('data', (chunk: Buffer) => seen.push(String(chunk)))
    for (const chunk of ['data: 1\n\n', 'data: token', '-of-nobody\n\n']) {
      source.push(chunk)
      await setImmediate()
    }
    expect(seen).to.deep.equal(['data: 1\n\n', 'data: ', 'token-of-nobody\n\n'])
    source.destroy(new Error('gone'))
    const error = await new Promise((resolve) => out.once('error', resolve))
    expect(String(error), 'what breaks off is told').to.include('gone')
  })

  it('cuts a stream that contains it: none of it is sent, and the call is free', async () => {
    const value = 'token-of-acme-9'
    const slug = await sell([{ path: '/events', streams: true }])
    await inject(slug, value)
    const before = await balance()
    answers((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
      response.write(`data: ${value.slice(0, 6)}`)
      setTimeout(() => response.end(`${value.slice(6)}\n\n`), 50)
    })
    const id = await callId(slug)
    const record = await over(id)
    expect(record).to.include({ state: 'released', reason: 'secret_repeated' })
    expect(await balance()).to.equal(before)
    answers((_, response) => void response.end(`data: ${value.slice(0, -1)}`))
    const near = await call(slug, '/events', { body: {} })
    expect(near.text, 'all but a letter of it is none').to.equal(`data: ${value.slice(0, -1)}`)
    expect(before - (await balance())).to.equal(1_000n)
  })

  /** Calls the API and reads the response; returns the call id. */
  async function callId(slug: string): Promise<string> {
    const response = await fetch(`${world.hub.url}/proxy/${slug}/events`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${world.payer.apiKey}`,
        'content-type': 'application/json',
      },
      body: '{}',
    })
    const { text, error } = await read(Readable.fromWeb(response.body!))
    expect(text).to.equal('data: 1\n\ndata: ')
    expect(error, 'it breaks off').to.be.instanceOf(Error)
    return String(response.headers.get('x-call-id'))
  }

  async function over(id: string) {
    for (let tries = 0; tries < 100; tries++) {
      const { body } = await send('GET', `/v1/calls/${id}`, undefined, world.payer)
      if (body['state'] !== 'held' && body['receipt'] !== null) return body
      await sleep(30)
    }
    throw new Error('the call is not over')
  }
})
