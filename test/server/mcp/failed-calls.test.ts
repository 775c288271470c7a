import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../../core/money.ts'
import { resolvePayments } from '../../../core/payments/operations/resolve.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { countingService, PRICE, resetWork, work } from '../../stories/counted-service.ts'
import { payFor } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestAgent } from '../../support/hub.ts'
import { claimsOf } from '../../support/receipt-claims.ts'
import { useHub } from '../../support/suite.ts'
import { callTool } from './ask.ts'
import { responseForms, unreadable } from './response-forms.ts'

describe('a paid tool that fails', () => {
  const hub = useHub({ plugins: [countingService, responseForms] })
  let ada: TestAgent
  beforeEach(async () => {
    resetWork()
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

  /** Signs a payment for a tool that a new agent without credits calls. */
  async function payNew(order: object) {
    const eve = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
    const poor = await hub().agent()
    const { structuredContent: required } = await call(order, undefined, poor)
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    const offered = { status: 402, headers: { 'payment-required': header }, body: {}, text: '' }
    const signed = await payFor(eve, 'mcp://tool', offered)
    const payment: object = JSON.parse(Buffer.from(signed, 'base64').toString())
    return { eve, send: () => call(order, { 'x402/payment': payment }, poor) }
  }

  for (const endpoint of ['/prepaid-bytes', '/prepaid-bytes-stream']) {
    it(`A324 works once for a payment whose response nobody can get: ${endpoint}`, async () => {
      const before = unreadable.done
      const { eve, send } = await payNew({ service: 'various', endpoint })
      for (const attempt of ['first', 'repeated']) {
        const { isError, data } = await send()
        expect(isError).to.equal(true)
        expect(data, attempt).to.include({ error: 'response_needs_http', charged_usd: '0.00' })
        expect(JSON.stringify(data)).to.include('becomes credits').and.not.include('Send the same')
        expect(unreadable.done - before, attempt).to.equal(1)
      }
      const { pool, paymentDeps } = hub().hub
      const payer = eve.address.toLowerCase()
      await eventually(async () => (await resolvePayments(paymentDeps, 0)) === 0)
      await pool.query(
        `UPDATE hub.payment_claim SET claimed_at = claimed_at - interval '1 day',
           working_until = working_until - interval '1 day' WHERE payer = $1`,
        [payer],
      )
      await resolvePayments(paymentDeps, 0)
      const { rows } = await pool.query('SELECT amount FROM hub.wallet_deposit WHERE wallet = $1', [
        payer,
      ])
      expect(rows, 'the payer gets it back').to.deep.equal([{ amount: PRICE }])
    })
  }

  it('says that a payment taken before a broken response pays for another attempt', async () => {
    const { eve, send } = await payNew({ service: 'various', endpoint: '/prepaid' })
    const { isError, data, _meta: meta } = await send()
    expect(isError).to.equal(true)
    expect(data).to.include({ error: 'stream_broken', charged_usd: '0.00' })
    expect(data['next']).to.include('same payment').and.not.include('not charged')
    expect(meta!['x402/payment-response']).to.include({ success: true })
    const { chain } = hub().hub.paymentDeps
    expect(await chain.balanceOf(eve.address)).to.equal(usd('1') - PRICE)
  })
})
