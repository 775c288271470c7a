import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'

const NAME = { name: 'test', version: '1.0.0' }
const SAY = {
  name: 'hub_call',
  arguments: { service: 'echo', endpoint: 'POST /say', input: { words: 'hello' } },
}
const TOOL_NAMES = (
  'hub_search hub_list_services hub_get_service hub_call hub_search_external hub_call_external ' +
  'hub_read_content hub_topup hub_balance'
).split(' ')

/** Common interface of both client generations. */
interface AnyClient {
  listTools(): Promise<{ tools: readonly { name: string }[] }>
  callTool(call: typeof SAY): Promise<unknown>
  close(): Promise<void>
}

describe('the official clients of MCP', () => {
  const hub = useHub()
  let ada: TestAgent
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const endpoint = () => new URL('/mcp', hub().url)
  const withKey = () => ({ requestInit: { headers: { Authorization: `Bearer ${ada.apiKey}` } } })

  /** Lists tools and makes free, paid and failing calls. The client validates the results. */
  async function use(client: AnyClient): Promise<void> {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).to.deep.equal(TOOL_NAMES)
    expect(await client.callTool(SAY)).to.deep.nested.include({
      'structuredContent.charged_usd': '0.0001',
      'structuredContent.body': { words: 'hello' },
    })
    const calls: readonly (readonly [name: string, args: object])[] = [
      ['hub_search', { query: 'echo' }],
      ['hub_list_services', { format: 'detailed' }],
      ['hub_get_service', { slug: 'analysis' }],
      ['hub_search_external', { query: 'weather' }],
      ['hub_topup', {}],
      ['hub_balance', {}],
    ]
    for (const [name, args] of calls) {
      const result = await client.callTool({
        ...SAY,
        name,
        arguments: args as typeof SAY.arguments,
      })
      expect(result, name).not.to.have.property('isError')
    }
    const failing = { ...SAY, arguments: { ...SAY.arguments, service: 'none' } }
    expect(await client.callTool(failing)).to.deep.include({ isError: true })
    expect(await hub().balance(ada.keyId)).to.equal(usd('0.9999'))
  }

  /** Expects that the client passes the x402 offer on and does not hide it as invalid. */
  async function expectOffer(client: AnyClient): Promise<void> {
    const offer = await client.callTool(SAY)
    expect(offer).to.deep.nested.include({ isError: true, 'structuredContent.x402Version': 2 })
  }

  it('of SDK version 1 list and call tools, ping, receive progress and terminate', async () => {
    const client = new Client(NAME)
    const transport = new StreamableHTTPClientTransport(endpoint(), withKey())
    await client.connect(transport)
    await use(client)
    await client.ping()
    const progressValues: number[] = []
    await client.callTool(SAY, undefined, {
      onprogress: ({ progress }) => progressValues.push(progress),
    })
    expect(progressValues).to.deep.equal([1, 2, 3, 4])
    await transport.terminateSession()
    await client.close()
  })

  for (const [era, versionNegotiation] of [
    ['legacy', undefined],
    ['auto', { mode: 'auto' as const }],
    ['modern', { mode: { pin: '2026-07-28' } }],
  ] as const) {
    it(`of version 2, ${era}, list and call tools and receive progress`, async () => {
      const client = new ModernClient(NAME, versionNegotiation && { versionNegotiation })
      await client.connect(new ModernTransport(endpoint(), withKey()))
      await use(client)
      const progressValues: number[] = []
      await client.callTool(SAY, { onprogress: ({ progress }) => progressValues.push(progress) })
      expect(progressValues).to.deep.equal([1, 2, 3, 4])
      await client.close()
    })
  }

  it('of both versions show the x402 offer to an agent without credits', async () => {
    ada = await hub().agent()
    const old = new Client(NAME)
    const transport = new StreamableHTTPClientTransport(endpoint(), withKey())
    await old.connect(transport)
    await old.listTools()
    await expectOffer(old)
    await old.close()
    const versionNegotiation = { mode: 'auto' as const }
    const client = new ModernClient(NAME, { versionNegotiation })
    await client.connect(new ModernTransport(endpoint(), withKey()))
    await client.listTools()
    await expectOffer(client)
    await client.close()
  })

  it('show how to get an API key if they have none', async () => {
    const authProvider = {
      redirectUrl: 'http://127.0.0.1/none',
      clientMetadata: { redirect_uris: ['http://127.0.0.1/none'] },
      clientInformation: () => undefined,
      tokens: () => undefined,
      saveTokens: () => undefined,
      saveClientInformation: () => undefined,
      redirectToAuthorization: () => undefined,
      saveCodeVerifier: () => undefined,
      codeVerifier: () => '',
    } satisfies OAuthClientProvider
    const transport = new StreamableHTTPClientTransport(endpoint(), { authProvider })
    const client = new Client(NAME)
    const error = await client.connect(transport).catch((problem: unknown) => problem)
    expect(String(error)).to.match(/API keys.*\.tgz register/)
  })
})
