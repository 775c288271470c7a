import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { request } from 'undici'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { usd } from '../../../core/money.ts'
import { resolvePayments } from '../../../core/payments/operations/resolve.ts'
import { callRpc } from '../../../server/sandbox/rpc.ts'
import { type Listening, listen } from '../../core/egress/fixture.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { type MppSeller, startMppSeller } from '../mpp-seller.ts'
import { startUptoSeller, type UptoSeller } from '../upto-seller.ts'

const PRICE = usd('0.01')
const CREDITS = usd('1')
const CAPS = { call: usd('1'), key: usd('0.025'), host: usd('9'), platform: usd('99') }
const EXPIRY_SECONDS = 150

interface Rail {
  readonly host: string
  /** Every payment that the seller received. */
  readonly payments: () => readonly unknown[]
  readonly onPaid: (answer: ((response: ServerResponse) => unknown) | undefined) => void
}

/** The attacks of paid-sellers.test.ts and outflow-caps.test.ts by sellers of other rails. */
describe('attacks by a seller that has a payment by MPP or a permit', () => {
  const payTo = privateKeyToAddress(generatePrivateKey())
  let mpp: MppSeller
  let upto: UptoSeller
  let other: Listening
  let ada: TestAgent
  const hub = useHub(async () => {
    const facilitator = () => hub().sandbox!.money.facilitator
    mpp = await startMppSeller(facilitator, { recipient: payTo, amount: '0.01' })
    upto = await startUptoSeller({ payTo, max: PRICE })
    other = await listen((_, response) => void response.end('goods'))
    const ports = { 'mpp.test': mpp.port, 'upto.test': upto.port, 'other.test': other.port }
    return { config: { sandboxHosts: new Map(Object.entries(ports)), outflow: CAPS } }
  })
  before(() => upto.open(hub().sandbox!.rpcUrl))
  after(() => Promise.all([mpp.close(), upto.close(), other.stop()]))
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, CREDITS)
  })
  const buy = ({ host }: Rail, more: object = {}) =>
    ask(hub().url, '/proxy/external', {
      key: ada.apiKey,
      body: { url: `http://${host}/work`, method: 'POST', body: { usage: 10_000 }, ...more },
    })
  const spent = async () => CREDITS - (await hub().balance(ada.keyId))
  const resolve = () =>
    eventually(async () => (await resolvePayments(hub().hub.paymentDeps, 0)) === 0)
  const expire = async () => {
    const { rpcUrl } = hub().sandbox!
    await callRpc(rpcUrl, 'evm_increaseTime', [EXPIRY_SECONDS])
    await callRpc(rpcUrl, 'evm_mine', [])
    await resolve()
  }

  const RAILS: Readonly<Record<string, Rail>> = {
    MPP: {
      host: 'mpp.test',
      payments: () => mpp.requests.filter(({ authorization }) => authorization !== undefined),
      onPaid: (answer) => void (mpp.onPaid = answer),
    },
    'x402 upto': {
      host: 'upto.test',
      payments: () => upto.payments,
      onPaid: (answer) => void (upto.onPaid = answer),
    },
  }
  for (const [name, rail] of Object.entries(RAILS)) {
    // Before the others, which put the clock of the chain ahead.
    it(`budget_split: small payments by ${name} stop at the daily cap of a key`, async () => {
      const earlier = rail.payments().length
      const responses = await Promise.all([buy(rail), buy(rail), buy(rail)])
      const codes = responses.map(({ status, body }) => (status === 200 ? 'paid' : body['code']))
      expect(codes).to.have.members(['paid', 'paid', 'outflow_cap_reached'])
      expect(rail.payments().length - earlier).to.equal(2)
      await resolve()
      expect(await spent()).to.equal(2n * PRICE)
    })

    describe(name, () => {
      let earlier = 0
      beforeEach(() => void (earlier = rail.payments().length))
      afterEach(() => rail.onPaid(undefined))
      const received = () => rail.payments().length - earlier

      it('A090 retry_storm: a seller that asks again gets no second signature', async () => {
        const offered = await request(
          `http://127.0.0.1:${(name === 'MPP' ? mpp : upto).port}/work`,
          {
            method: 'POST',
            headers: { host: rail.host, 'content-type': 'application/json' },
            body: '{}',
          },
        )
        await offered.body.dump()
        const { 'www-authenticate': challenge, 'payment-required': offer } = offered.headers
        const again =
          name === 'MPP' ? { 'www-authenticate': challenge } : { 'payment-required': offer }
        rail.onPaid((response) =>
          response.writeHead(402, again as Record<string, string>).end('{}'),
        )
        const refusal = await buy(rail)
        expect([refusal.status, refusal.body['code']]).to.deep.equal([
          502,
          'upstream_payment_rejected',
        ])
        expect(refusal.body['charged_microdollars']).to.equal(0)
        expect(received()).to.equal(1)
        const id = String(refusal.headers['x-call-id'])
        const { body } = await ask(hub().url, `/v1/calls/${id}`, { key: ada.apiKey })
        expect(body).to.include({ state: 'held', reserved_microdollars: Number(PRICE) })
        await expire()
        expect([await spent(), received()]).to.deep.equal([0n, 1])
      })

      it('A016 recipient_redirect: a payment does not follow a redirect', async () => {
        const location = 'http://other.test/work'
        rail.onPaid((response) => response.writeHead(307, { location }).end())
        const refusal = await buy(rail)
        expect([refusal.status, refusal.body['code']]).to.deep.equal([502, 'upstream_redirect'])
        expect(received()).to.equal(1)
        expect(other.seen).to.deep.equal([])
        await expire()
        expect(await spent()).to.equal(0n)
      })

      it('fake_delivery: a broken connection is one payment, which comes back unused', async () => {
        rail.onPaid((response) => response.destroy())
        const refusal = await buy(rail)
        expect([refusal.status, refusal.body['charged_microdollars']]).to.deep.equal([502, 0])
        expect(received()).to.equal(1)
        await expire()
        expect(await spent()).to.equal(0n)
      })
    })
  }
})
