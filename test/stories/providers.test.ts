import { defineService, s, usd } from 'agenthub/plugin'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { readConfig } from '../../core/config.ts'
import { micros } from '../../core/money.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { createOffers } from '../../core/payments/receiving/offers.ts'
import { setCommission } from '../../core/usage/commission.ts'
import { listCustomers, readCallStatistics } from '../../core/usage/provider-statistics.ts'
import { type PayoutSettings, payProviders } from '../../jobs/pay-providers.ts'
import { createAdmin } from '../server/rest/finance/fixture.ts'
import { type ApiResponse, ask, type RequestOptions } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { useHub } from '../support/suite.ts'
import { type Json, refused } from '../support/webhook-fixture.ts'
import { expectStatement } from './earnings-statement.ts'

const fail = (): never => {
  throw new Error('down')
}
const vendor = defineService({
  slug: 'vendor',
  name: 'Vendor',
  category: 'test',
  summary: 'Sells.',
  provider: 'vendor-co',
  endpoints: {
    'POST /good': { summary: 'Sells.', price: usd('0.4'), input: s.object({}), handle: () => ({}) },
    'POST /bad': { summary: 'Fails.', price: usd('0.4'), input: s.object({}), handle: fail },
  },
})

describe('a provider', () => {
  const admin = createAdmin()
  let receiver: Receiver
  const hub = useHub(async () => {
    receiver = await openReceiver()
    const sandboxHosts = new Map([['receiver.test', receiver.port]])
    return { plugins: [vendor], config: { sandboxHosts, admins: [admin.wallet], jobs: true } }
  })
  let owner: TestAgent
  let buyer: TestAgent
  before(async () => {
    owner = await hub().agent()
    buyer = await hub().agent()
    await hub().credit(buyer.keyId, usd('20'))
    const { body, text } = await ask(hub().url, '/v1/admin/providers/vendor-co/owner', {
      key: await admin.key(hub()),
      body: { name: owner.address, reason: 'The contract says so.' },
    })
    expect(body, text).to.include({ before: null, after: owner.address.toLowerCase() })
  })
  after(() => receiver.close())

  const as = (key: string, path: string, question: RequestOptions = {}): Promise<ApiResponse> =>
    ask(hub().url, path, { key, ...question })
  const call = (path = 'good') => as(buyer.apiKey, `/proxy/vendor/${path}`, { body: {} })
  const calls = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) expect((await call()).status).to.equal(200)
  }
  /** Waits until the database has the given number of rows. */
  const count = (sql: string, expected: number) =>
    eventually(async () => Number((await hub().hub.pool.query(sql)).rows[0].n) >= expected)
  const ADDRESS = '/v1/provider/payout-address'
  const challenge = (wallet: PrivateKeyAccount, key = owner.apiKey) =>
    as(key, `${ADDRESS}/challenge`, { body: { wallet_address: wallet.address } })
  const put = async (
    wallet: PrivateKeyAccount,
    by = wallet,
    key = owner.apiKey,
  ): Promise<ApiResponse> => {
    const { body } = await challenge(wallet, key)
    const signature = await by.signMessage({ message: String(body['message']) })
    return as(key, ADDRESS, { method: 'PUT', body: { nonce: body['nonce'], signature } })
  }
  const newWallet = () => privateKeyToAccount(generatePrivateKey())
  const wallet = newWallet()
  const listOf = ({ body }: ApiResponse) => body['data'] as Json[]

  it('has keys that manage services and never spend', async () => {
    const response = await as(owner.apiKey, '/v1/provider/keys', { body: { name: 'the shop' } })
    expect([response.status, response.body['role']]).to.deep.equal([201, 'provider'])
    const key = String(response.body['api_key'])
    const shown = await as(key, ADDRESS)
    expect([shown.status, shown.body['provider_id']]).to.deep.equal([200, 'vendor-co'])
    for (const method of ['GET', 'DELETE']) {
      const { status, body } = await as(buyer.apiKey, ADDRESS, { method })
      expect([status, body['provider_id']], 'a buyer becomes no provider').to.deep.equal([
        200,
        null,
      ])
    }
    expect((await as(key, '/v1/provider/services')).status).to.equal(200)
    expect((await as(key, '/v1/domains')).status).to.equal(200)
    refused(await as(key, '/proxy/vendor/good', { body: {} }), 403, 'provider_key')
    refused(await as(key, '/v1/keys'), 403, 'provider_key')
    refused(await as(key, '/v1/credits/balance'), 403, 'provider_key')
    refused(await as(key, '/v1/provider/keys', { body: {} }), 403, 'provider_key')
    refused(await as(key, ADDRESS, { method: 'DELETE' }), 403, 'provider_key')
    const mcp = await as(key, '/mcp', {
      headers: { accept: 'application/json, text/event-stream' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    })
    expect(mcp.status).to.equal(403)
    const child = await as(owner.apiKey, '/v1/keys', { body: {} })
    const childKey = String(child.body['api_key'])
    refused(await as(childKey, '/v1/provider/keys', { body: {} }), 403, 'root_key_required')
    refused(await as(childKey, '/v1/provider/payouts'), 403, 'root_key_required')
    const all = listOf(await as(owner.apiKey, '/v1/keys'))
    const listed = all.find(({ key_id }) => key_id === response.body['key_id'])
    expect(listed).to.include({ role: 'provider', name: 'the shop', balance_microdollars: null })
    const below = { body: { parent: response.body['key_id'] } }
    refused(await as(owner.apiKey, '/v1/keys', below), 404, 'not_found')
    const keyPath = `/v1/keys/${String(response.body['key_id'])}`
    await as(owner.apiKey, keyPath, { method: 'DELETE' })
    hub().advanceCaches(1_000)
    refused(await as(key, ADDRESS), 401, 'revoked_api_key')
  })

  it('is paid at a wallet that signed; a change is a request and can be canceled', async () => {
    const holding = async () => listOf(await as(owner.apiKey, '/v1/provider/balance'))[0]
    expect(await holding()).to.include({ waits_for: 'address' })
    refused(await put(wallet, newWallet()), 401, 'invalid_signature')
    const treasury = hub().sandbox!.wallets.treasury.account
    refused(await challenge(treasury), 422, 'validation_failed')
    const set = await put(wallet)
    expect(set.body).to.include({ address: wallet.address, next_address: null })
    const next = newWallet()
    const requested = await put(next)
    const open = { address: wallet.address, requested_address: next.address, next_address: null }
    expect(requested.body, 'a stolen key alone changes nothing').to.include(open)
    expect(await holding()).to.include({ waits_for: 'minimum' })
    const response = await as(owner.apiKey, ADDRESS, { method: 'DELETE' })
    expect(response.body).to.include({ ...open, requested_address: null })
    const { body } = await challenge(next)
    const signature = await next.signMessage({ message: String(body['message']) })
    const stolen = { method: 'PUT', body: { nonce: body['nonce'], signature } }
    refused(await as(buyer.apiKey, ADDRESS, stolen), 400, 'nonce_unknown')
  })

  it('is paid on chain and sees each call that it was paid for', async () => {
    await calls(3)
    const hook = await as(owner.apiKey, '/v1/webhooks', {
      body: { url: `http://receiver.test:${receiver.port}/paid`, events: ['payout.sent'] },
    })
    expect(hook.status, hook.text).to.equal(201)
    const { sandbox, hub: running } = hub()
    const { facilitator, treasury: payTo, spend: account } = sandbox!.money
    const offers = createOffers({ facilitator, payTo, network: USDC_BASE.network })
    const payouts: PayoutSettings = {
      account,
      settle: (...payment) => offers.settle(...payment),
      minimum: micros(1_000_000n),
      rules: readConfig({}).payouts.rules,
    }
    const never = new AbortController().signal
    await payProviders({ ...running.paymentDeps, pool: running.financePool, payouts }, never)
    await count(`SELECT count(*) AS n FROM hub.payout WHERE state = 'confirmed'`, 1)
    expect(await sandbox!.money.chain.balanceOf(wallet.address)).to.equal(1_080_000n)
    const [payout] = listOf(await as(owner.apiKey, '/v1/provider/payouts'))
    expect(payout).to.include({ state: 'sent', amount_microdollars: 1_080_000 })
    const path = `/v1/provider/payouts/${String(payout?.['payout_id'])}`
    const { body } = await as(owner.apiKey, path)
    const [vendor, ...more] = body['services'] as Record<string, unknown>[]
    expect(more).to.deep.equal([])
    expect(vendor).to.include({ service: 'vendor', calls: 3, gross_microdollars: 1_200_000 })
    expect(vendor).to.include({ commission_microdollars: 120_000, earned_microdollars: 1_080_000 })
    for (const part of ['refunds', 'refunded', 'owed', 'recovered', 'other'])
      expect(vendor, part).to.have.property(`${part}_microdollars`, 0)
    const first = await as(owner.apiKey, `${path}/statement?limit=2`)
    const cursor = encodeURIComponent(String(first.body['next_cursor']))
    const second = await as(owner.apiKey, `${path}/statement?limit=2&cursor=${cursor}`)
    const lines = [...listOf(first), ...listOf(second)]
    expect(lines.map((line) => line['amount_microdollars'])).to.deep.equal(Array(3).fill(360_000))
    const paid = await as(buyer.apiKey, `/v1/calls/${String(lines[0]?.['entry_id'])}`)
    expect(paid.status, 'the entry is the call').to.equal(200)
    const csv = await as(owner.apiKey, `${path}/statement.csv`)
    expect(csv.headers['content-type']).to.match(/^text\/csv/)
    const rows = csv.text.trim().split('\r\n')
    const amounts = ['amount_usd', ...Array(3).fill('0.360000')]
    expect(rows.map((row) => row.split(',')[8])).to.deep.equal(amounts)
    const party = { legal_name: 'Shop Ltd', email: 'shop@shop.example', country: 'IE' }
    await as(owner.apiKey, '/v1/billing', { method: 'PUT', body: party })
    const order = { body: { kind: 'commission', id: payout?.['payout_id'] } }
    const { body: issued } = await as(owner.apiKey, '/v1/documents', order)
    expect(issued['totals']).to.include({ gross_microdollars: 120_000 })
    refused(await as(buyer.apiKey, '/v1/documents', order), 404, 'not_found')
    await expectStatement(hub(), owner.apiKey, buyer.apiKey)
    const { totals } = (await as(owner.apiKey, '/v1/provider/balance')).body
    expect(totals).to.include({ owed_microdollars: 0, paid_microdollars: 1_080_000 })
    refused(await as(buyer.apiKey, path), 404, 'not_found')
    const [notice] = await receiver.next('/paid')
    expect(JSON.parse(notice!.body)).to.deep.include({ type: 'payout.sent' })
    expect(JSON.parse(notice!.body).data).to.include({ amount_microdollars: 1_080_000 })
  })

  it('earns by the commission rate at the time of each call and sees all rates', async () => {
    const earned = () => hub().hub.ledger.balance('liabilities:providers:vendor-co:vendor')
    const agree = (bps: number | null, effectiveFrom?: Date) =>
      setCommission(hub().hub.pool, {
        provider: 'vendor-co',
        service: 'vendor',
        bps,
        effectiveFrom,
        author: 'finance',
        reason: 'agreed',
      })
    await agree(2_500)
    hub().advanceCaches(1_000)
    const before = await earned()
    await calls(1)
    expect((await earned()) - before).to.equal(300_000n)
    await agree(5_000, new Date(Date.now() + 86_400_000))
    await agree(null)
    hub().advanceCaches(1_000)
    await calls(1)
    expect((await earned()) - before).to.equal(660_000n)
    const [holding] = listOf(await as(owner.apiKey, '/v1/provider/balance'))
    const services = [{ service: 'vendor', owed_microdollars: 660_000 }]
    expect(holding).to.deep.include({ provider_id: 'vendor-co', waits_for: 'minimum', services })
    const { body } = await as(owner.apiKey, '/v1/provider/commission')
    expect(body['default_bps']).to.equal(1_000)
    expect(body['rates']).to.deep.equal([
      { provider_id: 'vendor-co', service: 'vendor', commission_bps: 1_000 },
    ])
    const rules = (body['rules'] as Json[]).map((rule) => rule['commission_bps'])
    expect(rules).to.deep.equal([5_000, null, 2_500])
  })

  it('sees calls, latencies and earnings that tie to the ledger', async () => {
    expect((await call('bad')).status).to.equal(502)
    refused(await as(buyer.apiKey, '/proxy/vendor/good', { body: [] }), 422, 'validation_failed')
    const ask = (by: string) => as(owner.apiKey, `/v1/provider/statistics?by=${by}&service=vendor`)
    await count('SELECT sum(calls) AS n FROM hub.earning', 5)
    await count('SELECT count(*) AS n FROM hub.call', 6)
    const { body } = await ask('day')
    const totals = body['totals'] as Json
    const left = await hub().hub.ledger.balance('liabilities:providers:vendor-co:vendor')
    expect(totals).to.include({ gross_microdollars: 2_000_000, refunded_microdollars: 0 })
    expect(totals['earned_microdollars']).to.equal(Number(left) + 1_080_000)
    expect(totals['delivered']).to.equal(5)
    expect(Object.values(totals['latency_ms'] as Json)).to.not.include(null)
    const outcomes = listOf(await ask('outcome')).map((row) => [row['outcome'], row['calls']])
    expect(outcomes).to.deep.include.members([
      ['delivered', 5],
      ['plugin_failed', 1],
    ])
    const endpoints = listOf(await ask('endpoint')).map((row) => row['endpoint'])
    expect(endpoints).to.deep.equal(['vendor POST /bad', 'vendor POST /good'])
    const [customer, others] = listOf(await as(owner.apiKey, '/v1/provider/customers'))
    expect(others).to.equal(undefined)
    expect(customer).to.include({ charged_microdollars: 2_000_000, delivered: 5 })
    expect(JSON.stringify(customer)).to.not.include(buyer.keyId)
    const last = '/v1/provider/statistics?from=9999-12-01&to=9999-12-31'
    expect((await as(owner.apiKey, last)).status, 'up to the last day').to.equal(200)
    const theirs = await as(buyer.apiKey, '/v1/provider/statistics?service=vendor')
    refused(theirs, 404, 'service_not_found')
  })

  it('costs indexed reads, however many calls others have', async () => {
    const queries: [text: string, values: unknown[]][] = []
    const listening = {
      query: async (text: string, values: unknown[]) => {
        queries.push([text, values])
        return { rows: [] }
      },
    } as unknown as Pool
    const sales = { providers: ['vendor-co'], services: ['vendor'] }
    const range = { sales, from: new Date(Date.now() - 86_400_000), until: new Date() }
    for (const by of ['day', 'service', 'endpoint', 'outcome'] as const) {
      await readCallStatistics(listening, { ...range, by })
    }
    const secret = Buffer.alloc(32)
    await listCustomers(listening, { ...range, limit: 21, after: undefined, secret })
    const admin = await hub().database.admin.connect()
    await admin.query('BEGIN')
    await admin.query(
      `INSERT INTO hub.call (id, at, request_id, principal, service, endpoint, price_version,
         source, charged, outcome, status, latency_ms)
       SELECT gen_random_uuid(), now() - n * interval '1 minute', 'req', 'prn' || n % 70,
         's' || n % 51, 1, 1, 'credits', 1, 'delivered', 200, 9 FROM generate_series(1, 30000) n`,
    )
    await admin.query('ANALYZE hub.outcome_day, hub.caller_day, hub.caller_week')
    const plans: string[] = []
    for (const [text, values] of queries) {
      const { rows } = await admin.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, values)
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
    }
    await admin.query('ROLLBACK')
    admin.release()
    expect(plans).to.have.length(5)
    for (const plan of plans)
      expect(plan)
        .to.match(/outcome_day_pkey|caller_day_pkey/)
        .and.not.match(/Seq Scan on (?:outcome|caller)_/)
  })
})
