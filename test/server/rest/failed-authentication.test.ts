import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { ATTEMPTS_MAX } from '../../../core/identity/failed-attempts.ts'
import { generateKey, hashKey, keyPrefix } from '../../../core/identity/secret.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { useHub } from '../../support/suite.ts'

const token = (): string => randomBytes(32).toString('base64url')

describe('failed authentication', () => {
  const hub = useHub({ config: { proxies: 1 } })
  let networks = 0
  let network: string
  beforeEach(() => {
    network = `198.51.${++networks}.7`
  })

  type Attempt = () => Promise<ApiResponse>
  const from = (headers: Record<string, string> = {}) => ({
    'x-forwarded-for': network,
    ...headers,
  })

  const MCP = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const accept = 'application/json, text/event-stream'
  /** One attempt with an unknown credential at each entry point. */
  const attempts: Readonly<Record<string, Attempt>> = {
    'an agent key in REST': () =>
      ask(hub().url, '/v1/credits/balance', { headers: from(), key: generateKey() }),
    'a provider key in REST': () =>
      ask(hub().url, '/v1/provider/services', { headers: from(), key: generateKey() }),
    'a key in X-API-Key': () =>
      ask(hub().url, '/v1/keys', { headers: from({ 'x-api-key': generateKey() }) }),
    'a key in the proxy': () =>
      ask(hub().url, '/proxy/echo/say', { headers: from(), key: generateKey(), body: {} }),
    'a key in MCP': () =>
      ask(hub().url, '/mcp', { headers: from({ accept }), key: generateKey(), body: MCP }),
    'a session cookie': () =>
      ask(hub().url, '/v1/account', { headers: from({ cookie: `hub_session=${token()}` }) }),
    'a sign-in link': () =>
      ask(hub().url, '/v1/account/confirm', { headers: from(), body: { token: token() } }),
  }

  for (const [credential, attempt] of Object.entries(attempts)) {
    it(`is limited by address: ${credential}`, async () => {
      const before = await Promise.all(Array.from({ length: ATTEMPTS_MAX }, attempt))
      const statuses = new Set(before.map(({ status }) => status))
      expect([...statuses], before[0]?.text).to.satisfy((all: number[]) =>
        all.every((status) => status === 401 || status === 400 || status === 404),
      )
      const { status, headers, text } = await attempt()
      expect(status, text).to.equal(429)
      expect(text).to.include('authentication_limited')
      expect(Number(headers['retry-after'])).to.be.within(1, 60)
    })
  }

  it('A143 leaves a valid key behind the same address alone, also a new one', async () => {
    const { apiKey } = await hub().agent()
    const balance = (key: string) => ask(hub().url, '/v1/credits/balance', { headers: from(), key })
    for (let i = 0; i <= ATTEMPTS_MAX; i++) await attempts['an agent key in REST']!()
    expect((await attempts['an agent key in REST']!()).status).to.equal(429)
    expect((await balance(apiKey)).status).to.equal(200)
    expect((await balance((await hub().agent()).apiKey)).status).to.equal(200)
  })

  it('shows people with an old cookie the sign-in page', async () => {
    const page = () =>
      ask(hub().url, '/sign-in', {
        headers: from({ accept: 'text/html', cookie: `hub_session=${token()}` }),
      })
    for (let i = 0; i < ATTEMPTS_MAX + 5; i++) expect((await page()).status).to.equal(200)
  })

  it('is forgotten when the key is created, on every process', async () => {
    const secret = generateKey()
    const { keyId } = await hub().agent()
    const tried = () => ask(hub().url, '/v1/credits/balance', { headers: from(), key: secret })
    expect((await tried()).status).to.equal(401)
    await hub().database.admin.query(
      'INSERT INTO hub.key_secret (hash, key, prefix) VALUES ($1, $2, $3)',
      [hashKey(secret), keyId, keyPrefix(secret)],
    )
    await eventually(async () => (await tried()).status === 200, 5_000)
  })

  it('costs no query when repeated', async () => {
    const key = generateKey()
    const tried = () => ask(hub().url, '/v1/credits/balance', { headers: from(), key })
    const { pool } = hub().hub
    const query = pool.query.bind(pool)
    const texts: string[] = []
    pool.query = ((...args: unknown[]) => {
      texts.push(JSON.stringify(args[0]))
      return (query as (...all: unknown[]) => unknown)(...args)
    }) as typeof pool.query
    try {
      for (let i = 0; i < 20; i++) expect((await tried()).status).to.equal(401)
    } finally {
      pool.query = query
    }
    const lookups = texts.filter((text) => text.includes('key_secret'))
    expect(lookups, 'of the first attempt').to.have.length(1)
  })
})
