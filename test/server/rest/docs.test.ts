import { expect } from 'chai'
import { FAULTS } from '../../../core/errors.ts'
import { registryEntry } from '../../../server/rest/docs-agents.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

/** An address of MCP, as its registry tells clients. */
interface Remote {
  readonly type: string
  readonly url: string
  readonly headers: readonly [
    { readonly name: string; readonly value: string; readonly variables: object },
  ]
}

describe('documents', () => {
  const hub = useHub()
  const get = (path: string) => ask(hub().url, path)

  it('have one table of errors: the code’s, OpenAPI’s and the pages’', async () => {
    const { body: openapi } = await get('/openapi.json')
    const told = new Map<string, Set<string>>()
    for (const methods of Object.values(openapi['paths'] as object)) {
      for (const { responses } of Object.values(methods as object)) {
        for (const [status, one] of Object.entries(responses as object)) {
          for (const code of one['x-codes'] ?? []) {
            told.set(code, (told.get(code) ?? new Set()).add(status))
          }
        }
      }
    }
    const missing = Object.keys(FAULTS).filter((code) => !told.has(code))
    expect(missing, 'in /openapi.json').to.deep.equal([])
    for (const [code, [status, title, advice]] of Object.entries(FAULTS)) {
      expect([...(told.get(code) ?? [])], `${code} in /openapi.json`).to.deep.equal([
        String(status),
      ])
      const page = await get(`/docs/problems/${code}`)
      expect(page.status, code).to.equal(200)
      const plain = page.text.replaceAll(/&#(\d+);/g, (_, n) => String.fromCharCode(Number(n)))
      expect(plain, code).to.include(title).and.to.include(advice.split('\n')[0])
    }
    expect([...told.keys()].filter((code) => !(code in FAULTS))).to.deep.equal([])
  })

  it('are where the type of a problem says', async () => {
    const { body } = await get('/v1/services/nowhere')
    const { status, headers } = await get(String(body['type']))
    expect(status).to.equal(200)
    expect(headers['content-type']).to.match(/^text\/html/)
    expect((await get('/docs/problems/none')).status).to.equal(404)
    expect((await get('/docs/problems/constructor')).status).to.equal(404)
  })

  it('run no script and fetch nothing from anywhere else', async () => {
    for (const path of ['/docs', '/docs/problems', '/docs/problems/rate_limited']) {
      const { text, headers } = await get(path)
      expect(headers['content-security-policy']).to.match(/^default-src 'none'; style-src 'self'/)
      expect(text).not.to.match(/<script|<(?:link|img)[^>]*"(?!\/assets\/)\w*:|\son\w+=/)
      expect(text).not.to.match(/https?:\/\/(?!127)[^<"]*\.(js|css)\b/)
      expect(text)
        .to.match(/<html lang="en">/)
        .and.to.include('Skip to the content')
    }
  })

  it('tell agents and crawlers where everything is', async () => {
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
    const { body: card } = await get('/.well-known/agent-card.json')
    expect((card['skills'] as { id: string }[]).map(({ id }) => id)).to.include('analysis')
  })

  it('tell the registry of MCP where the hub is, and what to send with which key', async () => {
    const { status, body } = await get('/server.json')
    expect(status).to.equal(200)
    expect(body['name']).to.match(/^[a-zA-Z0-9.-]{3,}\/agenthub$/) // as the registry demands
    expect(body['description']).to.have.length.within(1, 100)
    const [remote] = body['remotes'] as [Remote]
    const [{ name, value, variables }] = remote.headers
    expect(Object.keys(variables)).to.deep.equal(['api_key'])
    const { apiKey } = await hub().agent()
    const told = await ask(remote.url, '', {
      body: { jsonrpc: '2.0', id: 1, method: 'ping' },
      headers: { [name]: value.replace('{api_key}', apiKey) },
    })
    expect([remote.type, told.status]).to.deep.equal(['streamable-http', 200])
    const site = {
      baseUrl: 'https://example.com',
      proxyUrl: '',
      mcpUrl: 'https://mcp.example.com/mcp',
    }
    expect(registryEntry(site, '1.2.3')).to.include({ name: 'com.example.mcp/agenthub' })
  })
})
