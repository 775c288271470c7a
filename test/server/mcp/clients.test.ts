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
const NINE = (
  'hub_search hub_list_services hub_get_service hub_call hub_search_external hub_call_external ' +
  'hub_read_content hub_topup hub_balance'
).split(' ')

/** What a client does that is the same in both of its generations. */
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
  const shown = () => ({ requestInit: { headers: { Authorization: `Bearer ${ada.apiKey}` } } })

  /** Lists and calls: free, paid, failing and unpaid; the client checks results by schema. */
  async function use(client: AnyClient): Promise<void> {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).to.deep.equal(NINE)
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

  /** The offer of x402 reaches the agent: no client may hide it as a result that is none. */
  async function unpaid(client: AnyClient): Promise<void> {
    const offer = await client.callTool(SAY)
    expect(offer).to.deep.nested.include({ isError: true, 'structuredContent.x402Version': 2 })
  }

  it('SDK version 1: lists, calls, pings, hears of progress, ends', async () => {
    const client = new Client(NAME)
    const transport = new StreamableHTTPClientTransport(endpoint(), shown())
    await client.connect(transport)
    await use(client)
    await client.ping()
    const heard: number[] = []
    await client.callTool(SAY, undefined, { onprogress: ({ progress }) => heard.push(progress) })
    expect(heard).to.deep.equal([1, 2, 3, 4])
    await transport.terminateSession()
    await client.close()
  })

  for (const [era, versionNegotiation] of [
    ['legacy', undefined],
    ['auto', { mode: 'auto' as const }],
    ['modern', { mode: { pin: '2026-07-28' } }],
  ] as const) {
    it(`client version 2, ${era}: lists, calls, hears of progress`, async () => {
      const client = new ModernClient(NAME, versionNegotiation && { versionNegotiation })
      await client.connect(new ModernTransport(endpoint(), shown()))
      await use(client)
      const heard: number[] = []
      await client.callTool(SAY, { onprogress: ({ progress }) => heard.push(progress) })
      expect(heard).to.deep.equal([1, 2, 3, 4])
      await client.close()
    })
  }

  it('both show the offer of x402 to an agent without credits', async () => {
    ada = await hub().agent()
    const old = new Client(NAME)
    const transport = new StreamableHTTPClientTransport(endpoint(), shown())
    await old.connect(transport)
    await old.listTools()
    await unpaid(old)
    await old.close()
    const versionNegotiation = { mode: 'auto' as const }
    const client = new ModernClient(NAME, { versionNegotiation })
    await client.connect(new ModernTransport(endpoint(), shown()))
    await client.listTools()
    await unpaid(client)
    await client.close()
  })

  it('without a key shows what to do, not what it made of it', async () => {
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
    expect(String(error)).to.match(/API keys.*npx agenthub register/)
  })
})
