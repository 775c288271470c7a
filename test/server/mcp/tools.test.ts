import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { encode } from 'gpt-tokenizer'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../../core/money.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { ask, payFor } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { callTool, legacy, modern } from './ask.ts'

type Json = Readonly<Record<string, unknown>>
interface Listed {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: { readonly type: string; readonly properties: Record<string, Json> }
  readonly outputSchema: Json
  readonly annotations: Json
}

const PAID = ['hub_call', 'hub_call_external', 'hub_read_content']
const tokens = (value: unknown): number => encode(JSON.stringify(value)).length

describe('the tools of the hub', () => {
  const hub = useHub()
  let ada: TestAgent
  let tools: readonly Listed[]
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('2'))
    const { body } = await legacy(hub(), 'tools/list', undefined, { key: ada.apiKey })
    tools = (body['result'] as { tools: readonly Listed[] }).tools
  })
  const call = (name: string, args: Json = {}) => callTool(hub(), ada.apiKey, name, args)

  describe('in tools/list', () => {
    it('are nine, on one page and in a fixed order', async () => {
      const names = tools.map(({ name }) => name)
      expect(names.toSorted().join(' ')).to.equal(
        'hub_balance hub_call hub_call_external hub_get_service hub_list_services ' +
          'hub_read_content hub_search hub_search_external hub_topup',
      )
      const { body } = await modern(hub(), 'tools/list', {}, { key: ada.apiKey })
      expect((body['result'] as Json)['tools']).to.deep.equal(tools)
      const more = await legacy(hub(), 'tools/list', { cursor: 'x' }, { key: ada.apiKey })
      expect(more.body['error']).to.include({ code: -32_602 })
    })

    it('take at most 2,850 tokens of an agent’s context, and 600 characters each', () => {
      expect(tokens(tools)).to.be.at.most(2_850)
      for (const { name, description } of tools) {
        expect(description.length, name).to.be.within(100, 600)
      }
    })

    it('declare whether they change, spend or reach outside', () => {
      for (const { name, annotations, title } of tools) {
        const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']
        expect(annotations, name).to.have.all.keys('title', ...hints)
        expect(annotations['readOnlyHint'], name).to.equal(!PAID.includes(name))
        expect(title).to.match(/^[A-Z]/)
      }
    })

    it('have plain schemas that every client can read', () => {
      for (const { name, inputSchema, outputSchema } of tools) {
        for (const schema of [inputSchema as Json, outputSchema]) {
          expect(schema['type'], name).to.equal('object')
          expect(JSON.stringify(schema), name).not.to.match(/"(\$ref|oneOf|anyOf|allOf|\$schema)"/)
        }
        expect(outputSchema, 'an offer of x402 must pass too').not.to.have.property('required')
      }
    })

    it('that pay take a maximum price and an idempotency key', () => {
      for (const { inputSchema, name } of tools.filter((tool) => PAID.includes(tool.name))) {
        const { max_price_usd: price, idempotency_key: key } = inputSchema.properties
        expect(price, name).to.include({ type: 'string' })
        expect(key!['description'], name).to.match(/repeat it with the SAME value/)
      }
    })
  })

  describe('in tools/call', () => {
    it('cause a protocol error if they do not exist', async () => {
      for (const params of [{ name: 'none' }, {}, { name: 'hub_call', arguments: [] }]) {
        const { status, body } = await legacy(hub(), 'tools/call', params, { key: ada.apiKey })
        expect([status, (body['error'] as Json)['code']]).to.deep.equal([200, -32_602])
      }
    })

    it('report invalid arguments and allowed values as a result for the model', async () => {
      const cases: readonly (readonly [name: string, args: Json, message: RegExp])[] = [
        ['hub_call', {}, /^service is required; endpoint is required$/],
        [
          'hub_call',
          { service: 'echo', endpoint: '/say', price: 1 },
          /^price is not a known field$/,
        ],
        ['hub_search', { limit: 26 }, /^limit must be <= 25$/],
        ['hub_search', { max_price_usd: 'cheap' }, /^max_price_usd must be an amount in dollars/],
        ['hub_search', { max_price_usd: 1e-7 }, /^max_price_usd must be an amount in dollars/],
        ['hub_search', { max_price_usd: '-1' }, /^max_price_usd must be an amount in dollars/],
        ['hub_search', { query: 'a\0b' }, /^query contains U\+0000$/],
        ['hub_topup', { amount_usd: 4.99 }, /^amount_usd must be 5.00 to 10000.00 USD$/],
        ['hub_call_external', { url: 'https://a.example' }, /^max_price_usd is required$/],
      ]
      for (const [name, args, message] of cases) {
        const { isError, data } = await call(name, args)
        expect(isError, name).to.equal(true)
        expect(data).to.include({ error: 'invalid_arguments', charged_usd: '0.00' })
        expect(data['message']).to.match(message)
      }
      const { data } = await call('hub_search', { format: 'long' })
      expect(data['allowed']).to.deep.equal({ format: ['concise', 'detailed'] })
      const cursor = await call('hub_search', { cursor: 'made up' })
      expect(cursor.data).to.include({ error: 'validation_failed' })
    })

    it('return at most 2,000 tokens', async () => {
      const calls: readonly (readonly [string, Json])[] = [
        ['hub_search', { query: 'text' }],
        ['hub_list_services', { format: 'detailed', limit: 25 }],
        ['hub_get_service', { slug: 'analysis' }],
        ['hub_search_external', { format: 'detailed', limit: 25 }],
        ['hub_topup', {}],
        ['hub_balance', { history_limit: 20 }],
      ]
      for (const [name, args] of calls) {
        const { content, data, structuredContent } = await call(name, args)
        expect(tokens(content), name).to.be.at.most(2_000)
        expect(data, name).to.deep.equal(structuredContent)
        const forRest = name === 'hub_topup' ? 1 : 0 // body of a REST request
        const micros = JSON.stringify(data).match(/microdollars":/g) ?? []
        expect(micros, 'money is in dollars').to.have.length(forRest)
      }
    })

    it('find a service by what it does, show it, and call it', async () => {
      const { data } = await call('hub_search', { query: 'sentiment of a text' })
      const [first] = data['services'] as readonly Json[]
      expect(first).to.include({ slug: 'analysis', category: 'ai', free_calls_per_month: 15 })
      expect(first!['why']).to.be.a('string')
      const shown = (await call('hub_get_service', { slug: 'analysis' })).data
      const endpoints = shown['endpoints'] as readonly Json[]
      expect(endpoints.map(({ endpoint }) => endpoint)).to.include('POST /sentiment')
      const one = await call('hub_get_service', { slug: 'analysis', endpoint: 'POST /sentiment' })
      const [sentiment] = one.data['endpoints'] as readonly Json[]
      expect(sentiment).to.include({ endpoint: 'POST /sentiment', price_usd: '0.002' })
      expect(sentiment).to.have.property('input').that.has.property('properties')
      const called = await call('hub_call', {
        service: 'analysis',
        endpoint: sentiment!['endpoint'],
        input: { text: 'What a lovely day, and how friendly they all were.' },
      })
      expect(called.data).to.include({ status: 200, charged_usd: '0.00', paid_from: 'free' })
    })

    it('find an external API with its input, and call it, in two calls', async () => {
      const { data } = await call('hub_search_external', { query: 'weather of a city' })
      const [first] = data['listings'] as readonly Json[]
      expect(first).to.include.keys('id', 'url', 'price_usd', 'uptime')
      const fields = [first!['query_required'], first!['query_optional']].flat()
      expect(fields).to.include('city')
      const shown = (await call('hub_get_service', { slug: first!['id'] })).data
      expect(shown).to.include.keys('input', 'pay_to', 'provider')
      const url = `${String(first!['url'])}?city=Oslo`
      const dry = { url, max_price_usd: first!['price_usd'], dry_run: true }
      expect((await call('hub_call_external', dry)).data).to.include.keys('cautions')
    })

    it('say when nothing native fits, and name the known categories', async () => {
      const { data } = await call('hub_search', { query: 'knitting patterns' })
      expect(data['note']).to.match(/hub_search_external/)
      const unknown = await call('hub_search', { category: 'none' })
      expect(unknown.data['message']).to.match(/Known: .*test/)
    })

    it('take the input of a call as an object, or as the JSON text of one', async () => {
      const inputs = [{ words: 'hi' }, '{"words":"hi"}']
      for (const input of inputs) {
        const called = await call('hub_call', { service: 'echo', endpoint: '/say', input })
        expect(called.data, JSON.stringify(called.data)).to.deep.include({ body: { words: 'hi' } })
      }
      for (const input of ['words', '[1]', '7', [], 7]) {
        const { data } = await call('hub_call', { service: 'echo', endpoint: '/say', input })
        expect(data, JSON.stringify(input)).to.include({ error: 'invalid_arguments' })
      }
    })

    it('read a paid page found by its host, and preview it for free', async () => {
      const url = 'http://magazine.test/articles/tides'
      const preview = await call('hub_read_content', { url, preview: true })
      expect(preview.data).to.include({ status: 200, charged_usd: '0.00' })
      const paid = { url, max_price_usd: '0.005' }
      const { data } = await call('hub_read_content', { ...paid, service: 'magazine' })
      expect(data['body']).to.include({ url, title: 'Why the tide comes twice a day' })
      expect((await call('hub_read_content', paid)).data['charged_usd'], 'kept').to.equal('0.002')
      const other = await call('hub_read_content', { url: 'http://nobody.test/' })
      expect(other.data['error']).to.equal('domain_not_registered')
    })

    it('filter by category and price across pages', async () => {
      const slugs = async (name: string, args: Json): Promise<unknown[]> => {
        const { data } = await call(name, args)
        const found = (data['services'] as readonly Json[]).map(({ slug }) => slug)
        const { next_cursor: cursor } = data
        return cursor === undefined
          ? found
          : [...found, ...(await slugs(name, { ...args, cursor }))]
      }
      expect(await slugs('hub_list_services', { limit: 1 })).to.include.members([
        'analysis',
        'echo',
      ])
      expect(await slugs('hub_list_services', { category: 'test' })).to.deep.equal(['echo'])
      expect(await slugs('hub_search', { limit: 1 })).to.include.members(['analysis', 'echo'])
      expect(await slugs('hub_search', { max_price_usd: '0.0001' })).to.deep.equal(['echo'])
    })

    it('explain how to find a service if the requested one does not exist', async () => {
      for (const [name, args] of [
        ['hub_get_service', { slug: 'nothing' }],
        ['hub_call', { service: 'nothing', endpoint: '/a' }],
        ['hub_read_content', { service: 'nothing', url: 'https://a.example/page' }],
      ] as const) {
        const { isError, data } = await call(name, args)
        expect(isError, name).to.equal(true)
        expect(data, name).to.include({ error: 'service_not_found', charged_usd: '0.00' })
        expect(data['next']).to.include('hub_search')
      }
      const wrong = await call('hub_get_service', { slug: 'echo', endpoint: '/shout' })
      expect(wrong.data).to.deep.include({
        error: 'not_found',
        endpoints: ['POST /repeat', 'POST /say'],
      })
    })

    it('report the same balance as REST, the limits and the spending', async () => {
      const words = { words: 'hello' }
      await call('hub_call', { service: 'echo', endpoint: '/say', input: words })
      const { data } = await call('hub_balance', { history_limit: 1 })
      const balance = await ask(hub().url, '/v1/credits/balance', { key: ada.apiKey })
      const micros = balance.body['balance_microdollars'] as number
      expect(usd(data['balance_usd'] as string)).to.equal(BigInt(micros))
      expect(data).to.deep.include({ key_id: ada.keyId, reserved_usd: '0.00' })
      expect(data['rate_limit']).to.deep.include({ tier: 'paid', requests_per_minute: 1_000 })
      expect(data['history']).to.have.length(1)
      const child = await ask(hub().url, '/v1/keys', {
        key: ada.apiKey,
        body: { name: 'child', max_call_microdollars: 100 },
      })
      expect(child.status).to.equal(201)
      const key = child.body['api_key'] as string
      const limited = await callTool(hub(), key, 'hub_balance', {})
      expect(limited.data['key_limits']).to.include({ max_call_usd: '0.0001' })
    })

    it('explain in a sandbox that only test money pays', async () => {
      const { data } = await call('hub_topup')
      expect(data['sandbox']).to.match(/^Test money only: never pay .* real USDC\.$/)
      expect(data['tell_user']).to.match(/^To add 5\.00 USD of test credits open http[^ ]+, or set/)
      expect(JSON.stringify(data['options'])).to.not.include('USDC on Base')
    })

    it('explain a top-up that a wallet can pay once', async () => {
      const { data } = await call('hub_topup', { amount_usd: 5 })
      const { browser, cli, x402 } = data['options'] as Record<string, Json>
      expect(browser!['url']).to.match(/^http:.*\/topup\?amount_usd=5.00&key_id=/)
      const purchase = (x402 as { body: Json }).body['purchase_id'] as string
      const flags = `topup 5.00 --hub ${hub().url} --purchase-id ${purchase}`
      expect(cli!['command'], 'buys once, whichever option is used')
        .to.match(/^npx http:.*\.tgz topup/)
        .and.satisfy((command: string) => command.endsWith(flags))
      expect(cli!['needs'], 'credits of this key').to.include('HUB_API_KEY set to this key')
      const account = privateKeyToAccount(generatePrivateKey())
      await fund(hub().sandbox!.rpcUrl, account.address, { usdc: usd('5') })
      const { url, body } = x402 as { url: string; body: Json }
      const offered = await ask(url, url, { key: ada.apiKey, body })
      const { accepts } = decodePaymentRequiredHeader(String(offered.headers['payment-required']))
      expect(accepts, 'the offer is the one that will be made').to.deep.equal(
        (x402!['payment_required'] as Json)['accepts'],
      )
      const headers = { 'payment-signature': await payFor(account, url, offered) }
      const before = await hub().balance(ada.keyId)
      const paid = await ask(url, url, { key: ada.apiKey, body, headers })
      expect(paid.status).to.equal(201)
      const again = await ask(url, url, { key: ada.apiKey, body, headers })
      expect(again.status).to.equal(201)
      expect(await hub().balance(ada.keyId)).to.equal(before + usd('5'))
    })
  })
})
