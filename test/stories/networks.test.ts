import { decodePaymentResponseHeader } from '@x402/core/http'
import { wrapFetchWithPayment } from '@x402/fetch'
import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { adjust } from '../../core/ledger/adjust.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { refundSale } from '../../core/payments/receiving/refund-sale.ts'
import { resolveException } from '../../core/reconciliation/resolve.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { newId } from '../core/ledger/fixture.ts'
import { ask } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'
import {
  clientOf,
  NETWORKS,
  POLYGON,
  PRICE,
  payOn,
  requiredOf,
  resolveOn,
  send,
  side,
  works,
} from './two-networks.ts'

/** Address at which USDC of one network is exchanged for that of another. */
const EXCHANGE: Hex = '0x000000000000000000000000000000000000e8c4'

describe('a hub on two networks', () => {
  const hub = useHub({ plugins: [works], config: NETWORKS })
  const base = side(hub, USDC_BASE)
  const polygon = side(hub, POLYGON)
  let eve: PrivateKeyAccount
  before(() => expect(hub().sandbox!.networks).to.have.length(1))
  beforeEach(async () => {
    eve = privateKeyToAccount(generatePrivateKey())
    await base.fund(eve)
    await polygon.fund(eve)
  })
  const resolve = () => resolveOn(hub())

  it('offers both, in every document, and to version 1 only Base', async () => {
    const offered = await send(hub())
    const { treasury } = hub().sandbox!.money
    expect(
      requiredOf(offered).accepts.map(({ network, asset, amount }) => [network, asset, amount]),
    ).to.deep.equal([
      [USDC_BASE.network, USDC_BASE.address, String(PRICE)],
      [POLYGON.network, POLYGON.address, String(PRICE)],
    ])
    for (const { payTo } of requiredOf(offered).accepts) expect(payTo).to.equal(treasury)
    expect(offered.body['accepts']).to.have.length(1)
    expect(offered.body).to.have.nested.property('accepts[0].network', 'base')
    const { extensions } = requiredOf(offered)
    expect(extensions).to.have.nested.property('offer-receipt.info.offers').with.length(2)

    const networks = [USDC_BASE.network, POLYGON.network]
    const { body: x402 } = await ask(hub().url, '/.well-known/x402')
    expect(x402).to.have.nested.property('x402.networks').deep.equal(networks)
    const { body: card } = await ask(hub().url, '/.well-known/agent-card.json')
    expect(card).to.have.nested.property('capabilities.extensions[0].params.networks')
    const { body: api } = await ask(hub().url, '/openapi.json')
    const paths = api['paths'] as Record<string, Record<string, unknown>>
    expect(paths['/proxy/works/once']!['post'])
      .to.have.nested.property('x-payment-info.protocols[0].x402.networks')
      .deep.equal(networks)
  })

  it('is paid by an unmodified client that only has money on the second one', async () => {
    const before = await base.books()
    const [transit, final] = await polygon.books()
    const fetchPaid = wrapFetchWithPayment(fetch, clientOf(eve, POLYGON))
    const response = await fetchPaid(`${hub().url}/proxy/works/once`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect(response.status).to.equal(200)
    const receipt = decodePaymentResponseHeader(response.headers.get('payment-response')!)
    expect(receipt).to.include({ success: true, network: POLYGON.network })
    expect(await polygon.books()).to.deep.equal([transit + PRICE, final])
    await resolve()
    expect(await polygon.books()).to.deep.equal([0n, final + transit + PRICE])
    expect(await base.books(), 'nothing is booked on Base').to.deep.equal(before)
    const { address } = eve
    expect(await polygon.chain().balanceOf(address)).to.equal(usd('10') - PRICE)
    expect(await base.chain().balanceOf(address)).to.equal(usd('10'))

    for (const network of [base, polygon]) {
      const { chain, ledger, exceptions, pending } = await network.reconcile()
      expect(chain).to.equal(ledger)
      expect([...exceptions, ...pending]).to.deep.equal([])
    }
  })

  it('sells credits on the second one, and shows both treasuries to finance', async () => {
    const ada = await hub().agent()
    const buy = (payment?: string) =>
      ask(hub().url, '/v1/credits/purchase', {
        key: ada.apiKey,
        body: { amount_microdollars: Number(usd('5')) },
        headers: payment === undefined ? {} : { 'payment-signature': payment },
      })
    const [transit] = await polygon.books()
    const payment = await payOn(eve, await buy(), POLYGON)
    expect(await buy(payment)).to.have.property('status', 201)
    expect(await buy(payment), 'a repetition buys nothing').to.have.property('status', 201)
    expect(await hub().balance(ada.keyId)).to.equal(usd('5'))
    expect((await polygon.books())[0]).to.equal(transit + usd('5'))
    await resolve()
  })

  it('reconciles a deposit that nothing explains with the chain where it is', async () => {
    const { treasury } = hub().sandbox!.money
    await resolve()
    await fund(polygon.rpcUrl(), treasury, { usdc: 7n }, POLYGON.address)
    await polygon.rpc('anvil_mine', '0x2')
    const { exceptions } = await polygon.reconcile()
    const [found] = exceptions
    expect(found).to.include({ wallet: 'treasury:polygon', kind: 'unknown_deposit', amount: 7n })
    expect((await base.reconcile()).exceptions).to.deep.equal([])
    const [, before] = await polygon.books()
    const client = await hub().hub.financePool.connect()
    const ports = { client, ledger: hub().hub.ledger }
    const decision = { author: 'finance', reason: 'a test' }
    await resolveException(ports, found!.id, { decision: 'surplus' }, decision)
    client.release()
    expect((await polygon.books())[1]).to.equal(before + 7n)
    expect((await polygon.reconcile()).exceptions).to.deep.equal([])
  })

  it('refunds a sale of the second one after it is final there', async () => {
    const paid = await send(hub(), await payOn(eve, await send(hub()), POLYGON))
    expect(paid.status).to.equal(200)
    const { pool, financePool, ledger } = hub().hub
    const { rows } = await pool.query<{ id: string }>(
      'SELECT id FROM hub.payment_claim WHERE payer = $1',
      [eve.address.toLowerCase()],
    )
    const refund = async () => {
      const client = await financePool.connect()
      try {
        await client.query('BEGIN')
        const decision = { author: 'finance', reason: 'a test' }
        const outcome = await refundSale(client, ledger, rows[0]!.id, decision)
        await client.query('COMMIT')
        return outcome
      } catch (error) {
        await client.query('ROLLBACK')
        return (error as Error).message
      } finally {
        client.release()
      }
    }
    expect(await refund()).to.equal('the payment of the call is not final')
    await resolve()
    expect(await refund()).to.equal('applied')
  })

  it('lets no entry move money between networks, and matches both entries of a sweep', async () => {
    const { ledger, financePool } = hub().hub
    const { treasury } = hub().sandbox!.money
    const decision = { author: 'finance', reason: 'a sweep' }
    const move = (debit: string, credit: string, transaction?: Hex) =>
      adjust(financePool, ledger, { debit, credit, amount: PRICE, transaction }, decision, {
        id: newId(),
      }).catch((error: Error) => error.message)
    const [there, here] = ['assets:usdc:polygon:treasury', 'assets:usdc:base:treasury']
    await resolve()
    expect(await move(here, there)).to.match(/on the accounts of two networks/)
    const before = await polygon.books()
    const way = 'assets:sweeps:in-transit'
    const sent = await polygon.transfer(treasury, EXCHANGE, PRICE)
    expect(await move(way, there, sent)).to.equal('applied')
    expect(0n - (await ledger.balance(way))).to.equal(PRICE)
    const received = await base.transfer(eve.address, treasury, PRICE)
    expect(await move(here, way, received)).to.equal('applied')
    expect(await ledger.balance(way)).to.equal(0n)
    expect((await polygon.books())[1]).to.equal(before[1] - PRICE)
    for (const network of [base, polygon]) {
      const { chain, ledger: booked, exceptions } = await network.reconcile()
      expect(chain).to.equal(booked)
      expect(exceptions).to.deep.equal([])
    }
    expect(await move('expenses:gas', way, sent)).to.match(/neither account is a platform wallet/)
  })
})
