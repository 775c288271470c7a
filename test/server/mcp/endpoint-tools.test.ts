import { defineService, s } from 'agenthub/plugin'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../../core/money.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { ask, payFor } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { legacy } from './ask.ts'

type Json = Readonly<Record<string, unknown>>
interface Listed {
  readonly name: string
  readonly description: string
  readonly inputSchema: { readonly properties: Record<string, Json> }
}

const placeInput = s.object({ 'place-name': s.string(), 'units.of': s.string() })
const place = (summary: string) => ({
  summary,
  price: usd('0.001'),
  input: placeInput,
  handle: ({ input }: { readonly input: object }) => ({ asked: input }),
})
/** Service with parameters in its paths. */
const places = defineService({
  slug: 'places',
  name: 'Places',
  category: 'test',
  summary: 'Answers with the place that it is asked for.',
  provider: 'example',
  endpoints: {
    'GET /{place-name}/in/{units.of}': place('Reads a place.'),
    'POST /{place-name}/in/{units.of}': place('Measures a place.'),
  },
})

describe('the tools of services, on request', () => {
  const hub = useHub({ plugins: [places] })
  let ada: TestAgent
  let tools: readonly Listed[]
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('2'))
    const { body } = await legacy(hub(), 'tools/list', undefined, { key: ada.apiKey })
    tools = (body['result'] as { tools: readonly Listed[] }).tools
  })
  const list = async (services: string) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const path = `/mcp?services=${services}`
    return ask(hub().url, path, { key: ada.apiKey, body: message })
  }
  const use = async (name: string, args: Json, meta: Json = {}, key = ada.apiKey) => {
    const params = { name, arguments: args, _meta: meta }
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const { body } = await ask(hub().url, '/mcp?services=echo,places', { key, body: message })
    return body['result'] as Json & { readonly structuredContent: Json }
  }
  type WithMeta = Listed & { readonly _meta?: { readonly x402: Json } }
  const added = async (services: string) => {
    const { body } = await list(services)
    const all = (body['result'] as { tools: readonly WithMeta[] }).tools
    expect(all.slice(0, 9)).to.deep.equal(tools)
    return all.slice(9)
  }

  it('are one for each endpoint with a fixed price, with its input and x402 terms', async () => {
    const found = await added('analysis,echo')
    expect(found.map(({ name }) => name)).to.include.members([
      'analysis_sentiment',
      'analysis_extract-entities',
      'echo_say',
    ])
    for (const { name, description, inputSchema, _meta: meta } of found) {
      expect(name).to.match(/^[\w-]{1,64}$/)
      expect(description, name).to.match(/Costs \d+\.\d+ USD/)
      expect(inputSchema.properties, name).to.have.property('idempotency_key')
      expect(meta?.x402, name).to.include({ paymentRequired: true, scheme: 'exact' })
    }
    expect(await added('external'), 'no fixed price').to.deep.equal([])
    const unknown = await list('analysis,nowhere')
    expect(unknown.status).to.equal(404)
    expect(JSON.stringify(unknown.body)).to.include('nowhere')
    expect((await list(Array.from({ length: 21 }, (_, i) => `a${i}`).join(','))).status).to.equal(
      400,
    )
  })

  it('call their endpoint once per idempotency key, from credits', async () => {
    const args = { words: 'hi', idempotency_key: 'one' }
    const first = await use('echo_say', args)
    expect(first.structuredContent).to.deep.include({
      charged_usd: '0.0001',
      paid_from: 'credits',
      body: { words: 'hi' },
    })
    const again = await use('echo_say', args)
    expect(again.structuredContent).to.include({ replayed: true, charged_usd: '0.00' })
    expect((await use('echo_say', { words: 7 }))['isError']).to.equal(true)
  })

  it('pass parameters of the path unchanged, whatever they are called', async () => {
    const input = { 'place-name': 'São Paulo 50%', 'units.of': 'km/h' }
    const found = await added('places')
    expect(found).to.have.length(2)
    for (const { name } of found) {
      const { structuredContent } = await use(name, input)
      expect(structuredContent, name).to.deep.include({ status: 200, body: { asked: input } })
    }
  })

  it('are paid by the terms that the list names, as mcpc pays', async () => {
    const [tool] = (await added('echo')).filter(({ name }) => name === 'echo_say')
    const { _meta: meta } = tool!
    const { paymentRequired: _, ...terms } = meta!.x402
    const poor = await hub().agent()
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, account.address, { usdc: usd('1') })
    const offer = { x402Version: 2, resource: { url: 'mcp://tool/echo_say' }, accepts: [terms] }
    const header = Buffer.from(JSON.stringify(offer)).toString('base64')
    const offered = { status: 402, headers: { 'payment-required': header }, body: {}, text: '' }
    const signed = await payFor(account, 'mcp://tool', offered)
    const payment = JSON.parse(Buffer.from(signed, 'base64').toString()) as object
    const paid = await use('echo_say', { words: 'paid' }, { 'x402/payment': payment }, poor.apiKey)
    expect(paid.structuredContent).to.include({ paid_from: 'x402', charged_usd: '0.0001' })
    expect(paid['_meta']).to.have.property('x402/payment-response')
  })
})
