import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../../core/money.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { anew, counted, PRICE, work } from '../../stories/counted-service.ts'
import { payFor } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { claimsOf } from '../../support/receipt-claims.ts'
import { useHub } from '../../support/suite.ts'
import { callTool } from './ask.ts'
import { responseForms } from './response-forms.ts'

describe('a paid tool that fails', () => {
  const hub = useHub({ plugins: [counted, responseForms] })
  let ada: TestAgent
  beforeEach(async () => {
    anew()
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const call = (args: object, meta?: Readonly<Record<string, unknown>>, by = ada) =>
    callTool(hub(), by.apiKey, 'hub_call', { input: {}, ...args }, meta)
  const spent = async () => usd('1') - (await hub().balance(ada.keyId))

  it('is not charged', async () => {
    work.before = async () => {
      throw new Error('a secret of the provider')
    }
    const { isError, data, content } = await call({ service: 'counted', endpoint: 'POST /work' })
    expect(isError).to.equal(true)
    expect(data).to.include({ error: 'plugin_failed', charged_usd: '0.00', retryable: true })
    expect(JSON.stringify(content)).not.to.include('secret of the provider')
    const refused = await call({ service: 'various', endpoint: '/refusing' })
    expect(refused.data).to.deep.include({
      error: 'service_refused',
      status: 418,
      charged_usd: '0.00',
      body: { why: 'tea' },
    })
    expect(await spent()).to.equal(0n)
  })

  it('is charged if its service charges for the refusal, and says so', async () => {
    const order = { service: 'various', endpoint: '/charging', idempotency_key: 'gone' }
    for (const charged of ['0.001', '0.00']) {
      const { isError, data, _meta: meta } = await call(order)
      expect(isError).to.equal(true)
      expect(data).to.include({ error: 'service_refused', status: 404, charged_usd: charged })
      expect(data['next']).to.include('You were charged').and.not.include('not charged')
      const receipt = claimsOf(meta!['agenthub/receipt'])
      expect(receipt).to.include({ charged_microdollars: Number(PRICE) })
    }
    expect(await spent()).to.equal(PRICE)
  })

  it('says that a payment taken before a broken response pays for another attempt', async () => {
    const eve = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
    const poor = await hub().agent()
    const order = { service: 'various', endpoint: '/prepaid' }
    const { structuredContent: required } = await call(order, undefined, poor)
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    const offered = { status: 402, headers: { 'payment-required': header }, body: {}, text: '' }
    const signed = await payFor(eve, 'mcp://tool', offered)
    const payment = JSON.parse(Buffer.from(signed, 'base64').toString())
    const { isError, data, _meta: meta } = await call(order, { 'x402/payment': payment }, poor)
    expect(isError).to.equal(true)
    expect(data).to.include({ error: 'stream_broken', charged_usd: '0.00' })
    expect(data['next']).to.include('same payment').and.not.include('not charged')
    expect(meta!['x402/payment-response']).to.include({ success: true })
    const { chain } = hub().hub.paymentDeps
    expect(await chain.balanceOf(eve.address)).to.equal(usd('1') - PRICE)
  })
})
