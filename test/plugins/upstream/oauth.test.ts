import type { AnyEndpoint, EgressRequest, Upstream } from 'agenthub/plugin'
import { expect } from 'chai'
import { OAuthTokens } from '../../../core/catalog/upstreams/oauth-tokens.ts'
import { usd } from '../../../core/money.ts'
import { soldOf } from '../../../plugins/upstream/service.ts'
import { type Body, type UpstreamRequest, useUpstream } from './fixture.ts'

describe('an imported API with OAuth2 client credentials', () => {
  const world = useUpstream()
  const { answers, call, sell, send, seen } = world
  const balance = () => world.hub.balance(world.payer.keyId)
  const credentials = (more: Body = {}) => ({
    secrets: [
      {
        in: 'oauth2',
        token_url: `${world.origin}/token`,
        client_id: 'acme id',
        client_secret: 'client-secret:9',
        scope: 'read write',
        ...more,
      },
    ],
  })
  /** API whose tokens are `token-of-acme-1`, `-2` …; it accepts those that `isValid` allows. */
  const serve = (
    isValid: (token: string) => boolean,
    reply: (request: UpstreamRequest) => string = () => '{"n":1}',
    issue: (n: number) => [status: number, body: unknown] = (n) => [
      200,
      { access_token: `token-of-acme-${n}`, token_type: 'bearer', expires_in: 600 },
    ],
  ) => {
    let issued = 0
    answers((request, response) => {
      if (request.url === '/token') {
        const [status, body] = issue(++issued)
        response.writeHead(status).end(JSON.stringify(body))
      } else {
        const token = String(request.headers.authorization).replace('Bearer ', '')
        response.writeHead(isValid(token) ? 200 : 401).end(reply(request))
      }
    })
    return () => issued
  }
  const list = async (more: Body = {}) => {
    const slug = await sell([{ method: 'GET', path: '/do' }])
    const { status, text } = await send(
      'PUT',
      `/v1/provider/services/${slug}/secret`,
      credentials(more),
    )
    expect(status, text).to.equal(200)
    return slug
  }

  it('gets one token for concurrent calls, which no response and no page shows', async () => {
    const issued = serve(() => true)
    const slug = await list()
    const answered = await Promise.all([1, 2, 3].map(() => call(slug, '/do')))
    expect(answered.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    expect(issued()).to.equal(1)
    const tokenRequest = seen.find(({ url }) => url === '/token')!
    expect(tokenRequest.body).to.equal('grant_type=client_credentials&scope=read+write')
    const basic = Buffer.from('acme+id:client-secret%3A9').toString('base64')
    expect(tokenRequest.headers.authorization).to.equal(`Basic ${basic}`)
    const shown = await send('GET', `/v1/provider/services/${slug}`)
    expect(shown.body['secrets']).to.have.nested.property('[0].in', 'oauth2')
    expect(shown.text).not.to.match(/client-secret|token-of-acme/)
    for (const secret of ['token-of-acme-1', 'client-secret:9', btoa('token-of-acme-1')]) {
      serve(
        () => true,
        () => JSON.stringify({ secret }),
      )
      const { status, body, text } = await call(slug, '/do')
      expect([status, body['code']], secret).to.deep.equal([502, 'upstream_error'])
      expect(text).not.to.include(secret)
    }
  })

  it('sends id and secret in the body if its token endpoint wants them there', async () => {
    serve(() => true)
    const slug = await list({ client_authentication: 'body', audience: 'https://api.acme' })
    expect((await call(slug, '/do')).status).to.equal(200)
    const { body, headers } = seen.find(({ url }) => url === '/token')!
    expect(headers).not.to.have.property('authorization')
    expect(Object.fromEntries(new URLSearchParams(body))).to.deep.equal({
      grant_type: 'client_credentials',
      scope: 'read write',
      audience: 'https://api.acme',
      client_id: 'acme id',
      client_secret: 'client-secret:9',
    })
  })

  it('charges nothing when the token endpoint fails; shows registered errors only', async () => {
    const cases: readonly [number, unknown, RegExp][] = [
      [401, { error: 'invalid_client', hint: 'client-secret:9' }, /401 \(invalid_client\)/],
      [500, { error: 'trace of our database' }, /returned status 500\.$/],
      [200, { access_token: 'token-of-acme', token_type: 'mac' }, /no bearer token/],
    ]
    const slug = await list()
    const before = await balance()
    for (const [status, body, text] of cases) {
      serve(
        () => true,
        () => '{}',
        () => [status, body],
      )
      const response = await call(slug, '/do')
      expect([response.status, response.body['code']], response.text).to.deep.equal([
        502,
        'upstream_error',
      ])
      expect(response.body['detail']).to.match(text)
      expect(response.text).not.to.match(/client-secret|our database|token-of-acme/)
      expect(seen.map(({ url }) => url)).to.deep.equal(['/token'])
    }
    expect(await balance()).to.equal(before)
  })

  it('refuses a token URL that it must not call, and a second header Authorization', async () => {
    const slug = await sell([{ method: 'GET', path: '/do' }])
    const put = (body: Body) => send('PUT', `/v1/provider/services/${slug}/secret`, body)
    for (const url of ['http://10.0.0.1/token', 'file:///etc/passwd', 'no url']) {
      const { status, body } = await put(credentials({ token_url: url }))
      expect([status, body['code']], url).to.deep.equal([422, 'validation_failed'])
    }
    const both = [...credentials().secrets, { in: 'header', name: 'Authorization', value: 'x' }]
    expect((await put({ secrets: both })).status).to.equal(422)
  })
})

describe('the access token of an API', () => {
  const tokensWith = (issue: () => { status: number; body: object }) => {
    let now = 1_000_000
    let requestCount = 0
    const way = {
      request: async () => {
        requestCount += 1
        const { status, body } = issue()
        return { status, headers: {}, body: Buffer.from(JSON.stringify(body)) }
      },
    }
    const tokens = new OAuthTokens(
      {
        tokenUrl: 'https://api.acme.com/token',
        clientId: 'a',
        clientSecret: 'b',
        authentication: 'basic',
      },
      way,
      () => now,
    )
    return {
      tokens,
      countRequests: () => requestCount,
      pass: (seconds: number) => {
        now += seconds * 1_000
      },
    }
  }
  const issued = { status: 200, body: { access_token: 'abc', expires_in: 100 } }

  it('is replaced before it expires; until then a failing endpoint harms no call', async () => {
    let answer: { status: number; body: object } = issued
    const { tokens, countRequests, pass } = tokensWith(() => answer)
    const first = await tokens.get()
    pass(89)
    expect(await tokens.get()).to.equal(first)
    expect(countRequests()).to.equal(1)
    pass(2)
    const second = await tokens.get()
    expect(second).not.to.equal(first)
    answer = { status: 503, body: {} }
    pass(91)
    expect(await tokens.get()).to.equal(second)
    pass(9)
    const error: unknown = await tokens.get().catch((failure: unknown) => failure)
    expect(error).to.include({ status: 502, code: 'upstream_error' })
  })

  it('is replaced when the API refuses it, but not more than every ten seconds', async () => {
    const { tokens, countRequests, pass } = tokensWith(() => issued)
    const first = await tokens.get()
    expect(tokens.discard(first)).to.equal(false)
    pass(11)
    expect(tokens.discard(first)).to.equal(true)
    const second = await tokens.get()
    expect(tokens.discard(first), 'it was replaced').to.equal(true)
    expect(await tokens.get()).to.equal(second)
    expect(countRequests()).to.equal(2)
  })
})

describe('a call that the API refuses with 401', () => {
  const callWith = async (last: string) => {
    const hidden = [{ place: 'header', name: 'authorization', value: last }] as const
    const sent: unknown[] = []
    const tokens = [first, last, 'Bearer unused'].map((authorization) => ({
      authorization,
      hidden,
    }))
    const held = [...tokens]
    const upstream = {
      ...UPSTREAM,
      tokens: { get: async () => held[0]!, discard: () => Boolean(held.shift()) },
      way: {
        request: async ({ headers }: EgressRequest) => {
          sent.push(headers?.['authorization'])
          const status = sent.at(-1) === 'Bearer accepted' ? 200 : 401
          return { status, headers: {}, body: Buffer.from('{}') }
        },
      },
    }
    const endpoints = soldOf(upstream).endpoints as Readonly<Record<string, AnyEndpoint>>
    const { handle } = endpoints['POST /do']!
    const signal = AbortSignal.timeout(5_000)
    const call = {
      id: '1',
      input: {},
      payer: 'x',
      terms: null,
      charge: () => {},
      meter: () => true,
      signal,
    }
    const result: unknown = await Promise.resolve(handle(call)).catch((error: unknown) => error)
    return { result, sent }
  }
  const first = 'Bearer expired'

  it('is sent once more with another token, never a third time', async () => {
    const repeated = await callWith('Bearer accepted')
    expect(repeated.result).to.include({ status: 200 })
    expect(repeated.sent).to.deep.equal([first, 'Bearer accepted'])
    const refused = await callWith('Bearer refused')
    expect(refused.result).to.include({ status: 502, code: 'upstream_error' })
    expect(refused.sent).to.deep.equal([first, 'Bearer refused'])
  })
})

const UPSTREAM: Omit<Upstream, 'way'> = {
  slug: 'acme',
  name: 'Acme',
  category: 'data',
  summary: 'Acme.',
  provider: 'me',
  freeCallsPerMonth: 0,
  deprecated: undefined,
  baseUrl: 'https://api.acme.com',
  requestHeaders: [],
  responseHeaders: [],
  injected: [],
  endpoints: [
    {
      method: 'POST',
      path: '/do',
      upstreamPath: '/do',
      summary: 'Does it.',
      price: usd('0.001'),
      input: { type: 'object' },
      output: null,
      query: [],
      body: 'json',
      encoding: null,
      success: [200],
      passes: [],
      deadlineSeconds: 10,
      maxBytes: 1_024,
      streams: false,
      idempotent: false,
      retries: 0,
    },
  ],
}
