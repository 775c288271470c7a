import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { defineService, s, usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { readPayment } from '../../core/payments/receiving/payment.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { useHub } from '../support/suite.ts'
import { walletEmptier } from './empty-wallet.ts'

let before: () => Promise<void> = async () => {}
let done = 0
const handle = async () => {
  await before()
  return { done: ++done }
}
const endpoint = { summary: 'Works.', input: s.object({}), handle }
const works = defineService({
  slug: 'works',
  name: 'Works',
  category: 'test',
  summary: 'Works at several prices.',
  provider: 'example',
  endpoints: {
    'POST /small': { ...endpoint, price: usd('0.01') },
    'POST /large': { ...endpoint, price: usd('0.02') },
    'POST /final': { ...endpoint, price: usd('0.001'), prepaid: true },
  },
})

describe('A211 an x402 payment is settled before the work', () => {
  const hub = useHub({ plugins: [works] })
  let eve: PrivateKeyAccount
  beforeEach(async () => {
    before = async () => {}
    done = 0
    eve = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
  })
  const send = (path: string, payment?: string): Promise<ApiResponse> =>
    ask(hub().url, `/proxy/works/${path}`, {
      body: {},
      headers: payment === undefined ? {} : { 'payment-signature': payment },
    })
  const pay = async (path: string) => send(path, await payFor(eve, hub().url, await send(path)))
  const flowOf = ({ body }: ApiResponse) =>
    (body['accepts'] as [{ extra: Record<string, unknown> }])[0].extra['paymentFlow']
  const usdc = (): Promise<bigint> => hub().hub.paymentDeps.chain.balanceOf(eve.address)

  it('if the work cannot be undone, so that an emptied wallet gets no free work', async () => {
    expect(flowOf(await send('final'))).to.equal('upfront')
    before = await walletEmptier(hub(), eve.address)
    const { status, headers } = await pay('final')
    expect([status, headers['x-payment-source'], done]).to.deep.equal([200, 'x402', 1])
  })

  it('if an unknown wallet pays more than a small amount', async () => {
    expect(flowOf(await send('small')), 'a small amount').to.equal(undefined)
    expect(flowOf(await send('large'))).to.equal('upfront')
    before = await walletEmptier(hub(), eve.address)
    expect(await pay('large')).to.have.property('status', 200)
  })

  it('unless the wallet has paid as much before', async () => {
    expect(await pay('large')).to.have.property('status', 200)
    before = async () => {
      throw new Error('down')
    }
    const left = await usdc()
    const failed = await pay('large')
    expect([failed.status, failed.body['payment']], 'not kept').to.deep.equal([502, undefined])
    expect(await usdc(), 'nothing was charged').to.equal(left)
    before = async () => {}
    expect(await pay('large')).to.have.property('status', 200)
    expect(await usdc()).to.equal(left - usd('0.02'))
  })

  it('unless the wallet has only bought credits, which it still has', async () => {
    const wallet = { account: eve, sandbox: true }
    const options = { baseUrl: hub().url, wallet }
    await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('6') })
    const { apiKey } = await new HubClient(options).register()
    await new HubClient({ ...options, apiKey }).purchase(usd('5'))
    before = async () => {
      throw new Error('down')
    }
    const { body, text } = await pay('large')
    expect(body['payment'], text).to.include({ state: 'kept' })
  })

  it('and pays for the next attempt if the work fails', async () => {
    before = async () => {
      throw new Error('down')
    }
    const payment = await payFor(eve, hub().url, await send('large'))
    const failed = await send('large', payment)
    expect([failed.status, failed.body['payment']]).to.deep.include.members([502])
    expect(failed.body['payment']).to.include({ state: 'kept' })
    before = async () => {}
    expect(await send('large', payment)).to.have.property('status', 200)
    expect(await usdc()).to.equal(usd('1') - usd('0.02'))
  })

  it('if concurrent payments exceed what the wallet has paid at once before', async () => {
    expect(await pay('large')).to.have.property('status', 200)
    const payments = await Promise.all(
      [1, 2, 3, 4].map(async () => payFor(eve, hub().url, await send('large'))),
    )
    const { promise: wait, resolve: release } = Promise.withResolvers<void>()
    let waiting = 0
    before = () => {
      waiting++
      return wait
    }
    const sent = payments.map((payment) => send('large', payment))
    await eventually(async () => waiting === 4)
    const left = await usdc()
    release()
    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    expect(statuses).to.deep.equal([200, 200, 200, 200])
    const unpaid = left - (await usdc())
    expect(Number(unpaid), 'unpaid while working').to.be.at.most(Number(usd('0.02')))
  })

  describe('or else refused', () => {
    const verified: unknown[] = []
    const facilitator = () => hub().sandbox!.money.facilitator
    const gateway = () => facilitator().batched!
    let verify: Facilitator['verify']
    beforeEach(() => {
      verified.length = 0
      verify = gateway().verify
      gateway().verify = (...payment) => {
        verified.push(payment)
        return verify(...payment)
      }
    })
    afterEach(() => {
      gateway().verify = verify
    })
    const distrust = () =>
      hub().hub.paymentDeps.claims.trust.distrust(eve.address.toLowerCase(), 'not_settled')
    const servedOnceSettledElsewhere = async (payment: string): Promise<void> => {
      const parsed = readPayment(payment)
      await facilitator().settle(parsed, parsed.accepted)
      const pending = await send('small', payment)
      expect([pending.status, pending.body['code']]).to.deep.equal([202, 'payment_pending'])
      await eventually(async () => {
        await resolvePayments(hub().hub.paymentDeps, 0)
        return (await send('small', payment)).status === 200
      })
      expect([await usdc(), done]).to.deep.equal([usd('1') - usd('0.01'), 1])
    }

    it('before a facilitator has seen it, which might settle it at once', async () => {
      const payment = await payFor(eve, hub().url, await send('small'))
      await distrust()
      const refused = await send('small', payment)
      expect([refused.status, refused.body['reason']]).to.deep.equal([402, 'upfront_required'])
      expect(flowOf(refused)).to.equal('upfront')
      expect([verified.length, done]).to.deep.equal([0, 0])
    })

    it('and watched, because the payer may have it settled elsewhere', async () => {
      const payment = await payFor(eve, hub().url, await send('small'))
      await distrust()
      expect((await send('small', payment)).body).to.have.property('reason', 'upfront_required')
      await servedOnceSettledElsewhere(payment)
    })

    it('unless a facilitator has settled it at an earlier attempt', async () => {
      before = () => Promise.reject(new Error('broken'))
      const payment = await payFor(eve, hub().url, await send('small'))
      expect((await send('small', payment)).body).to.include({ code: 'plugin_failed' })
      await distrust()
      expect((await send('small', payment)).body).to.have.property('reason', 'upfront_required')
      before = async () => {}
      await servedOnceSettledElsewhere(payment)
    })
  })

  it('and becomes credits of the payer if no work succeeds within a day', async () => {
    const { pool, paymentDeps, ledger } = hub().hub
    const earned = () => ledger.balance('liabilities:providers:example:works')
    const total = async () => (await earned()) + (await ledger.balance('income:commission'))
    const start = await total()
    before = async () => {
      throw new Error('down')
    }
    const payment = await payFor(eve, hub().url, await send('large'))
    const failed = await send('large', payment)
    expect(failed.body['payment']).to.have.property('refund_at')
    expect(await total()).to.equal(start + usd('0.02'))
    const state = async () => {
      await resolvePayments(paymentDeps, 0)
      const { rows } = await pool.query(
        `SELECT state FROM hub.payment_claim WHERE payer = '${eve.address.toLowerCase()}'`,
      )
      return rows[0].state
    }
    await eventually(async () => (await state()) === 'confirmed')
    expect(await total(), 'not before a day').to.equal(start + usd('0.02'))
    await pool.query(`UPDATE hub.payment_claim SET claimed_at = now() - interval '25 hours'
      WHERE payer = '${eve.address.toLowerCase()}'`)
    await Promise.all([state(), state()])
    expect(await total()).to.equal(start)
    expect(await ledger.balance('liabilities:suspense')).to.equal(usd('0.02'))
    before = async () => {}
    const again = await send('large', payment)
    expect([again.status, again.body['reason']]).to.deep.equal([402, 'payment_deposited'])
    expect(done).to.equal(0)
    const wallet = { account: eve, sandbox: true }
    const { keyId } = await new HubClient({ baseUrl: hub().url, wallet }).register()
    for (let times = 0; times < 2; times++) await state()
    expect(await hub().balance(keyId)).to.equal(usd('0.02'))
    expect(await ledger.balance('liabilities:suspense')).to.equal(0n)
  })

  it('and returns after a day also if others settled it when the work had failed', async () => {
    before = () => Promise.reject(new Error('broken'))
    const { pool, ledger, paymentDeps } = hub().hub
    const payment = await payFor(eve, hub().url, await send('small'))
    expect((await send('small', payment)).body).to.include({ code: 'plugin_failed' })
    const parsed = readPayment(payment)
    await hub().sandbox!.money.facilitator.settle(parsed, parsed.accepted)
    const total = () => ledger.balance('liabilities:suspense')
    const start = await total()
    const own = `payer = '${eve.address.toLowerCase()}'`
    await eventually(async () => {
      await resolvePayments(paymentDeps, 0)
      const { rows } = await pool.query(`SELECT state FROM hub.payment_claim WHERE ${own}`)
      return rows[0].state === 'confirmed'
    })
    await pool.query(
      `UPDATE hub.payment_claim SET claimed_at = now() - interval '25 hours' WHERE ${own}`,
    )
    await resolvePayments(paymentDeps, 0)
    await pool.query(`UPDATE hub.payment_claim SET deposited = false WHERE ${own}`)
    for (let times = 0; times < 2; times++) await resolvePayments(paymentDeps, 0)
    expect((await total()) - start, 'once, also after an earlier version').to.equal(usd('0.01'))
    before = async () => {}
    const again = await send('small', payment)
    expect([again.status, again.body['reason']]).to.deep.equal([402, 'payment_deposited'])
    expect(done).to.equal(0)
  })

  it('by the x402 client library at the first try', async () => {
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(eve))
    const paying = wrapFetchWithPayment(fetch, client)
    for (const path of ['small', 'large', 'final', 'large']) {
      const response = await paying(`${hub().url}/proxy/works/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      })
      expect(response.status, path).to.equal(200)
    }
    expect(done).to.equal(4)
  })
})
