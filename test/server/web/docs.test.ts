import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { systemClock } from '../../../core/clock.ts'
import { FAULTS } from '../../../core/errors.ts'
import { usd } from '../../../core/money.ts'
import { x402Terms } from '../../../core/payments/receiving/offers.ts'
import { singleKey } from '../../../core/secret-keys/purpose-keys.ts'
import { WebhookSigner } from '../../../core/webhooks/signer.ts'
import { registryEntry } from '../../../server/web/docs/agent-documents.ts'
import { ask } from '../../support/ask.ts'
import { readOpenApi } from '../../support/openapi.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createVisitor } from '../staff/fixture.ts'

/** MCP endpoint in the registry entry. */
interface Remote {
  readonly type: string
  readonly url: string
  readonly headers: readonly [
    { readonly name: string; readonly value: string; readonly variables: object },
  ]
}

const decode = (text: string): string =>
  text.replaceAll(/&#(\d+);/g, (_, n) => String.fromCharCode(Number(n)))

/** Request that a sample for the shell sends. */
function requestOf(sample: string, baseUrl: string) {
  const [, url = ''] = /'([^']*)'/.exec(sample) ?? []
  expect(url.startsWith(baseUrl), sample).to.equal(true)
  const [, data] = / -d '(.*)'$/s.exec(sample) ?? []
  const [, method = data === undefined ? 'GET' : 'POST'] = / -X (\w+)/.exec(sample) ?? []
  const [, auth] = /-H "(Authorization|Cookie): /.exec(sample) ?? []
  const body = data && (JSON.parse(data.replaceAll(String.raw`'\''`, "'")) as object)
  return { path: url.slice(baseUrl.length), method, auth, body: body || undefined }
}

/** Refusal of `example.com`, which samples name because nobody owns it. */
const RESERVED = 'The host is not a public internet name.'

describe('documentation', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet], proxies: 1 } })
  const get = (path: string) => ask(hub().url, path)
  /** Signs another person in, because a sample may sign them out. */
  const sessionHeaders = async (n: number) => {
    const { cookie } = await createVisitor(hub(), `reads-${n}@example.test`)
    return { cookie, origin: new URL(hub().url).origin }
  }

  it('has the same error codes in code, OpenAPI and pages', async () => {
    const { body: openapi } = await readOpenApi(hub().url)
    const documented = new Map<string, Set<string>>()
    for (const methods of Object.values(openapi['paths'] as object)) {
      for (const { responses } of Object.values(methods as object)) {
        for (const [status, one] of Object.entries(responses as object)) {
          for (const code of one['x-codes'] ?? []) {
            documented.set(code, (documented.get(code) ?? new Set()).add(status))
          }
        }
      }
    }
    const missing = Object.keys(FAULTS).filter((code) => !documented.has(code))
    expect(missing, 'in /openapi.json').to.deep.equal([])
    for (const [code, [status, title, advice]] of Object.entries(FAULTS)) {
      expect([...(documented.get(code) ?? [])], `${code} in /openapi.json`).to.deep.equal([
        String(status),
      ])
      const page = await get(`/docs/problems/${code}`)
      expect(page.status, code).to.equal(200)
      const plain = decode(page.text)
      expect(plain, code).to.include(title).and.to.include(advice.split('\n')[0])
    }
    expect([...documented.keys()].filter((code) => !(code in FAULTS))).to.deep.equal([])
  })

  it('is at the type URL of each problem', async () => {
    const { body } = await get('/v1/services/nowhere')
    const { status, headers } = await get(String(body['type']))
    expect(status).to.equal(200)
    expect(headers['content-type']).to.match(/^text\/html/)
    expect((await get('/docs/problems/none')).status).to.equal(404)
    expect((await get('/docs/problems/constructor')).status).to.equal(404)
  })

  it('describes every operation once and links to it from the index', async () => {
    const { body: openapi } = await readOpenApi(hub().url)
    const operations = Object.values(openapi['paths'] as object).flatMap((methods) =>
      Object.values(methods as object),
    ) as { operationId: string; tags: string[] }[]
    const { text: index } = await get('/docs')
    expect(index.length, 'characters').to.be.below(150_000)
    const pages = new Map<string, string>()
    for (const { operationId: id, tags } of operations) {
      const path = `/docs/reference/${tags[0]}`
      expect(index, id)
        .to.include(`<li id="${id}"><a href="${path}#${id}">`)
        .and.to.include(`<section id="tag-${tags[0]}">`)
      if (!pages.has(path)) pages.set(path, (await get(path)).text)
      expect(pages.get(path), path).to.include(`<article class="endpoint" id="${id}">`)
    }
    const described = [...pages.values()].flatMap((page) => page.match(/<article/g) ?? [])
    expect(described).to.have.lengthOf(operations.length)
    expect((await get('/docs/reference/none')).status).to.equal(404)
  })

  it('shows a request for each operation, which the hub accepts as written', async () => {
    const { body: openapi } = await readOpenApi(hub().url)
    const tags = Object.values(openapi['paths'] as object).flatMap((methods) =>
      (Object.values(methods as object) as { tags: string[] }[]).map((each) => each.tags[0]!),
    )
    const pages = await Promise.all([...new Set(tags)].map((tag) => get(`/docs/reference/${tag}`)))
    const samples = pages.flatMap(({ text }) => text.match(/<code>curl [^<]*/g) ?? [])
    expect(samples).to.have.length(tags.length)
    const key = await admin.key(hub())
    const { body: own } = await ask(hub().url, '/v1/keys', { key })
    const [{ key_id: keyId }] = own['data'] as [{ key_id: string }]
    await hub().credit(keyId, usd('1')) // raises the rate limit
    const refused: string[] = []
    for (const [n, sample] of samples.entries()) {
      const { path, method, auth, body } = requestOf(
        decode(sample.slice('<code>'.length)),
        hub().url,
      )
      const { status, text } = await ask(hub().url, path, {
        method,
        ...(body && { body }),
        ...(auth === 'Authorization' && { key }),
        headers: {
          'x-forwarded-for': `10.${n >> 8}.${n & 255}.1`, // an address may send few requests
          ...(auth === 'Cookie' && (await sessionHeaders(n))),
        },
      })
      const isWrong =
        status >= 500 ||
        [400, 401, 405, 415].includes(status) ||
        text.includes('Nothing is at') ||
        (body && text.includes('validation_failed') && !text.includes(RESERVED))
      if (isWrong) refused.push(`${method} ${path}: ${status} ${text}`)
    }
    expect(refused).to.deep.equal([])
  })

  it('contains working code for checking webhook signatures', async () => {
    const { text } = await get('/docs/webhooks')
    const plain = decode(text)
    const [, code = ''] = /<code>(import .*?)<\/code>/s.exec(plain)!
    const { isFromHub } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
      isFromHub: (secret: string, headers: Record<string, string>, body: string) => boolean
    }
    const signer = new WebhookSigner(singleKey(randomBytes(32)))
    const secret = await signer.secretOf('whk_1', { version: 2, keyVersion: 1 })
    const body = '{"type":"webhook.test"}'
    const sign = (versions: number[], now = systemClock.now()) =>
      signer.headersOf(
        'whk_1',
        versions.map((version) => ({ version, keyVersion: 1 })),
        'evt_1',
        now,
        body,
      )
    expect(isFromHub(secret, await sign([2]), body)).to.equal(true)
    expect(isFromHub(secret, await sign([3, 2]), body), 'two secrets').to.equal(true)
    expect(isFromHub(secret, await sign([1]), body), 'another secret').to.equal(false)
    expect(isFromHub(secret, await sign([2]), `${body} `), 'another body').to.equal(false)
    const hourAgo = new Date(systemClock.now().getTime() - 3_600_000)
    expect(isFromHub(secret, await sign([2], hourAgo), body), 'an old one').to.equal(false)
    expect(isFromHub(secret, {}, body), 'unsigned').to.equal(false)
  })

  it('finds guides, operations and error codes by the beginnings of words', async () => {
    const found = async (q: string) => {
      const { text } = await get(`/docs/search?q=${encodeURIComponent(q)}`)
      return [...text.matchAll(/<h2><a href="([^"]*)"/g)].map(([, path]) => path!)
    }
    expect(await found('payout adress')).to.deep.equal([])
    expect(await found('IDEMPOTENCY')).to.include('/docs/agents#4-call')
    expect((await found('rate_limited'))[0]).to.equal('/docs/problems/rate_limited')
    expect(await found('payment_required')).to.include('/docs/problems/payment_required')
    const [operation = ''] = await found('GET /v1/keys')
    expect(operation).to.match(/^\/docs\/reference\/keys#/)
    for (const path of [...(await found('webhook')), ...(await found('price'))]) {
      const [page, anchor] = path.split('#') as [string, string?]
      const { status, text } = await get(page)
      expect(status, path).to.equal(200)
      if (anchor !== undefined) expect(text, path).to.include(`id="${anchor}"`)
    }
    const { text } = await get('/docs/search?q=%3Cscript%3Ealert(1)')
    expect(text).not.to.include('<script>alert')
  })

  it('runs only scripts of the hub and loads nothing from other hosts', async () => {
    for (const path of [
      '/docs',
      '/docs/reference/keys',
      '/docs/problems',
      '/docs/problems/rate_limited',
    ]) {
      const { text, headers } = await get(path)
      expect(headers['content-security-policy']).to.match(/^default-src 'none'; style-src 'self'/)
      expect(text).not.to.match(
        /<script(?! src="\/assets\/)|<(?:link|img)[^>]*"(?!\/assets\/)\w*:|\son\w+=/,
      )
      expect(text).not.to.match(/https?:\/\/(?!127)[^<"]*\.(js|css)\b/)
      expect(text)
        .to.match(/<html lang="en">/)
        .and.to.include('Skip to content')
    }
  })

  it('links agents and crawlers to everything', async () => {
    expect((await get('/llms.txt')).text)
      .to.match(/^# AgentHub\n/)
      .and.to.include('/proxy/analysis')
    expect((await get('/.well-known/agents.md')).text).to.include('/v1/register/challenge')
    const { body: x402 } = await get('/.well-known/x402')
    expect(x402['version']).to.equal(1)
    const resources = x402['resources'] as string[]
    expect(resources).to.include(`${hub().url}/proxy/echo/say`)
    for (const url of resources.slice(0, 3)) {
      expect((await ask(url, '', { method: 'POST' })).status, url).to.equal(402)
    }
    const catalog = await get('/.well-known/api-catalog')
    expect(catalog.headers['content-type']).to.equal('application/linkset+json')
    const links = (catalog.body['linkset'] as Record<string, { href: string }[]>[])[1]!
    for (const name of ['service-desc', 'service-doc', 'status']) {
      expect((await ask(links[name]![0]!.href, '')).status, name).to.equal(200)
    }
  })

  it('has an agent card with the required members of A2A 0.3 and 1.0', async () => {
    const { body: card } = await get('/.well-known/agent-card.json')
    const url = `${hub().url}/mcp`
    for (const name of [
      'name',
      'description',
      'version',
      'protocolVersion',
      'preferredTransport',
    ]) {
      expect(card[name], name).to.be.a('string').that.is.not.empty
    }
    expect(card['url']).to.equal(url)
    const [first] = card['supportedInterfaces'] as readonly Record<string, unknown>[]
    expect(first).to.have.all.keys('url', 'protocolBinding', 'protocolVersion')
    expect(first!['url']).to.equal(url)
    expect(card['capabilities']).to.be.an('object')
    expect(card['defaultInputModes']).to.deep.equal(['application/json'])
    expect(card['defaultOutputModes']).to.deep.equal(['application/json'])
    const { apiKey } = card['securitySchemes'] as Record<string, Record<string, unknown>>
    expect(apiKey).to.include({ type: 'http', scheme: 'bearer' })
    expect(apiKey).to.nested.include({ 'httpAuthSecurityScheme.scheme': 'Bearer' })
    expect(card['security']).to.deep.equal([{ apiKey: [] }])
    expect(card['securityRequirements']).to.deep.equal([{ schemes: { apiKey: { list: [] } } }])
    const skills = card['skills'] as readonly { id: string; tags: readonly string[] }[]
    expect(skills.map(({ id }) => id)).to.include('analysis')
    for (const skill of skills) {
      expect(skill, skill.id).to.have.all.keys('id', 'name', 'description', 'tags')
      expect(skill.tags, skill.id).to.have.length.above(0)
    }
  })

  it('has an MCP registry entry with endpoint and key', async () => {
    const { status, body } = await get('/server.json')
    expect(status).to.equal(200)
    expect(body['name']).to.match(/^[a-zA-Z0-9.-]{3,}\/agenthub$/) // required by the registry
    expect(body['description']).to.have.length.within(1, 100)
    const [remote] = body['remotes'] as [Remote]
    const [{ name, value, variables }] = remote.headers
    expect(Object.keys(variables)).to.deep.equal(['api_key'])
    const { apiKey } = await hub().agent()
    const response = await ask(remote.url, '', {
      body: { jsonrpc: '2.0', id: 1, method: 'ping' },
      headers: { [name]: value.replace('{api_key}', apiKey) },
    })
    expect([remote.type, response.status]).to.deep.equal(['streamable-http', 200])
    const site = {
      baseUrl: 'https://example.com',
      proxyUrl: '',
      mcpUrl: 'https://mcp.example.com/mcp',
      command: 'hub',
      x402: x402Terms([]),
    }
    expect(registryEntry(site, '1.2.3')).to.include({ name: 'com.example.mcp/agenthub' })
  })
})
