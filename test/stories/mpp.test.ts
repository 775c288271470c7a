import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { Challenge, Credential, Receipt } from 'mppx'
import { evm, Mppx } from 'mppx/client'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import {
  type Facilitator,
  FacilitatorUnavailable,
} from '../../core/payments/facilitators/facilitator.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { useHub } from '../support/suite.ts'
import { countingService, PRICE, resetWork, work } from './counted-service.ts'

const WORK = '/proxy/counted/work'
const currencies = [evm.assets.base.USDC]

type Writable<T> = { -readonly [K in keyof T]: T[K] }

interface Wire {
  challenge: Record<string, unknown>
  payload: Record<string, unknown>
  source?: string
}

describe('MPP', () => {
  const hub = useHub({ plugins: [countingService] })
  let payer: PrivateKeyAccount
  beforeEach(async () => {
    resetWork()
    payer = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, payer.address, { usdc: usd('10') })
  })

  const usdc = () => hub().hub.paymentDeps.chain.balanceOf(payer.address)
  const send = (authorization?: string, more: Record<string, string> = {}, body: object = {}) =>
    ask(hub().url, WORK, {
      body,
      headers: { ...(authorization !== undefined && { authorization }), ...more },
    })
  const challengeOf = ({ headers }: ApiResponse) =>
    Challenge.deserialize(String(headers['www-authenticate']))
  /** Signs as mppx does. */
  const sign = async (offered?: ApiResponse, account = payer): Promise<string> =>
    evm.charge({ account, currencies }).createCredential({
      challenge: challengeOf(offered ?? (await send())) as never,
      context: {},
    })
  /** Changes what was signed. */
  const altered = (credential: string, change: (wire: Wire) => void): string => {
    const wire = JSON.parse(Buffer.from(credential.slice(8), 'base64url').toString()) as Wire
    change(wire)
    return `Payment ${Buffer.from(JSON.stringify(wire)).toString('base64url')}`
  }
  /** The same transfer as a payment by x402. */
  async function asX402(credential: string): Promise<string> {
    const { payload } = Credential.deserialize(credential)
    const { type: _, signature, ...authorization } = payload as Record<string, unknown>
    const { accepts, resource } = decodePaymentRequiredHeader(
      String((await send()).headers['payment-required']),
    )
    const accepted = accepts[0]!
    const paid = { x402Version: 2, resource, accepted, payload: { signature, authorization } }
    return encodePaymentSignatureHeader(paid)
  }

  it('is paid by the unmodified client of mppx, which gets a receipt', async () => {
    const methods = [evm({ account: payer, currencies })]
    const mppx = Mppx.create({ methods, polyfill: false })
    const used: string[] = []
    mppx.on('credential.created', ({ credential }) => void used.push(credential))
    const response = await mppx.fetch(new URL(WORK, hub().url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect(response.status, await response.clone().text()).to.equal(200)
    expect(used.map((each) => each.slice(0, 8))).to.deep.equal(['Payment '])
    const receipt = Receipt.fromResponse(response)
    const { rows } = await hub().hub.pool.query(
      'SELECT transaction, amount FROM hub.payment_claim WHERE payer = $1',
      [payer.address.toLowerCase()],
    )
    expect(rows).to.have.length(1)
    expect(receipt).to.include({ method: 'evm', reference: rows[0].transaction })
    expect(receipt).to.include({ amount: String(PRICE) })
    expect(await usdc()).to.equal(usd('10') - PRICE)
    expect(work.done).to.equal(1)
  })

  it('pays beside a key, in Authorization or in X-API-Key', async () => {
    const { apiKey } = await hub().agent()
    const key = { authorization: `Bearer ${apiKey}` }
    const offered = await send(undefined, key)
    expect(challengeOf(offered).header).to.equal('Payment-Authorization')
    const own = await send(undefined, { ...key, 'payment-authorization': await sign(offered) })
    expect(own.status, own.text).to.equal(200)
    const beside = await send(await sign(), { 'x-api-key': apiKey })
    expect(beside.status, beside.text).to.equal(200)
    expect(beside.headers['x-payment-source']).to.equal('x402')
    expect(await usdc()).to.equal(usd('10') - 2n * PRICE)
  })

  it('buys credits', async () => {
    const { apiKey: key, keyId } = await hub().agent()
    const path = '/v1/credits/purchase'
    const body = { amount_microdollars: 5_000_000 }
    const offered = await ask(hub().url, path, { key, body })
    const headers = { 'payment-authorization': await sign(offered) }
    const bought = await ask(hub().url, path, { key, body, headers })
    expect(bought.status, bought.text).to.equal(201)
    expect(Receipt.deserialize(String(bought.headers['payment-receipt'])).status).to.equal(
      'success',
    )
    expect(await hub().balance(keyId)).to.equal(usd('5'))
    const again = await ask(hub().url, path, { key, body, headers })
    expect(again.headers['payment-receipt']).to.equal(bought.headers['payment-receipt'])
    expect(await hub().balance(keyId)).to.equal(usd('5'))
  })

  it('is charged once: a repetition gets the first response and receipt', async () => {
    const credential = await sign()
    const [first, again] = [await send(credential), await send(credential)]
    expect([first.status, again.status]).to.deep.equal([200, 200])
    expect(again.text).to.equal(first.text)
    expect(again.headers).to.include({
      'payment-receipt': first.headers['payment-receipt'],
      'idempotency-replayed': 'true',
    })
    const elsewhere = await send(credential, {}, { text: 'other' })
    expect(elsewhere.body['code']).to.equal('payment_replayed')
    expect(work.done).to.equal(1)
    expect(await usdc()).to.equal(usd('10') - PRICE)
  })

  it('takes one transfer once, sent concurrently by both protocols', async () => {
    const credential = await sign()
    const payment = { 'payment-signature': await asX402(credential) }
    const both = Array.from({ length: 4 }, () => [send(credential), send(undefined, payment)])
    const answers = await Promise.all(both.flat())
    expect(
      answers.map(({ status }) => status).filter((status) => status === 200).length,
    ).to.be.greaterThan(0)
    const { rows } = await hub().hub.pool.query(
      'SELECT state FROM hub.payment_claim WHERE payer = $1',
      [payer.address.toLowerCase()],
    )
    expect(rows).to.have.length(1)
    expect(work.done).to.equal(1)
    expect(await usdc()).to.equal(usd('10') - PRICE)
    const later = await send(undefined, payment, { text: 'other' })
    expect(later.body['code']).to.equal('payment_replayed')
  })

  it('is refused beside a payment by x402, and moves nothing', async () => {
    const payment = await payFor(payer, hub().url, await send())
    const { status, body } = await send(await sign(), { 'payment-signature': payment })
    expect([status, body['code']]).to.deep.equal([400, 'duplicate_header'])
    expect(await usdc()).to.equal(usd('10'))
  })

  it('pays for the next attempt if the work fails, without a second transfer', async () => {
    work.before = async () => {
      throw new Error('the provider is down')
    }
    const credential = await sign()
    expect((await send(credential)).status).to.equal(502)
    expect(await usdc()).to.equal(usd('10'))
    work.before = async () => {}
    expect((await send(credential)).status).to.equal(200)
    expect(await usdc()).to.equal(usd('10') - PRICE)
  })

  const ATTACKS: Readonly<Record<string, readonly [(wire: Wire) => void, string]>> = {
    'another recipient': [
      ({ payload }) => (payload['to'] = `0x${'11'.repeat(20)}`),
      'no_matching_payment_requirements',
    ],
    'a smaller amount': [
      ({ payload }) => (payload['value'] = '1'),
      'no_matching_payment_requirements',
    ],
    'the nonce of no challenge': [
      ({ payload }) => (payload['nonce'] = `0x${'22'.repeat(32)}`),
      'invalid_challenge',
    ],
    'a challenge of another realm': [
      ({ challenge }) => (challenge['realm'] = 'other.example'),
      'invalid_challenge',
    ],
    'a challenge that never ends': [
      ({ challenge }) => (challenge['expires'] = '2999-01-01T00:00:00.000Z'),
      'invalid_challenge',
    ],
    'a challenge for another network': [
      ({ challenge }) => {
        const request = JSON.parse(
          Buffer.from(String(challenge['request']), 'base64url').toString(),
        )
        request.methodDetails.chainId = 1
        challenge['request'] = Buffer.from(JSON.stringify(request)).toString('base64url')
      },
      'invalid_challenge',
    ],
    'a transfer that outlives its challenge': [
      ({ payload }) => (payload['validBefore'] = String(Number(payload['validBefore']) + 1)),
      'invalid_challenge',
    ],
    'the source of another wallet': [
      (wire) => (wire.source = `did:pkh:eip155:8453:0x${'33'.repeat(20)}`),
      'invalid_challenge',
    ],
    'another signature': [
      ({ payload }) => (payload['signature'] = `0x${'44'.repeat(64)}1b`),
      'invalid_exact_evm_signature',
    ],
    'a member that nobody knows': [
      ({ payload }) => (payload['permit2Authorization'] = {}),
      'malformed_payload',
    ],
  }
  for (const [attack, [change, reason]] of Object.entries(ATTACKS)) {
    it(`is refused with ${attack}, before the work`, async () => {
      const refused = await send(altered(await sign(), change))
      expect([refused.status, refused.body['reason']]).to.deep.equal([402, reason])
      expect(refused.body['charged_microdollars']).to.equal(0)
      expect(challengeOf(refused).id, 'a new challenge').to.have.length(43)
      expect(work.done).to.equal(0)
      expect(await usdc()).to.equal(usd('10'))
    })
  }

  it('A082 is pending, without another challenge, if the facilitator does not answer', async () => {
    const facilitator: Writable<Facilitator> = hub().sandbox!.money.facilitator
    const batched = facilitator.batched!
    const settle: typeof batched.settle = async (...payment) => {
      facilitator.batched = batched
      await batched.settle(...payment)
      throw new FacilitatorUnavailable('no response')
    }
    facilitator.batched = { ...batched, settle }
    const credential = await sign()
    const response = await send(credential)
    expect([response.status, response.body['code']], response.text).to.deep.equal([
      202,
      'payment_pending',
    ])
    expect(response.headers).not.to.have.property('www-authenticate')
    await eventually(async () => (await send(credential)).status === 200)
    expect((await send(credential)).headers).to.include({ 'idempotency-replayed': 'true' })
    expect([work.done, await usdc()]).to.deep.equal([1, usd('10') - PRICE])
  })

  it('cannot pay a dearer endpoint with the challenge of a cheap one', async () => {
    const cheap = await ask(hub().url, '/proxy/echo/say', { body: { words: 'hello' } })
    const refused = await send(await sign(cheap))
    expect(refused.body['reason']).to.equal('no_matching_payment_requirements')
    expect(await usdc()).to.equal(usd('10'))
  })

  it('is no key: other routes refuse it as one would be missing', async () => {
    const headers = { authorization: await sign() }
    const { status } = await ask(hub().url, '/v1/credits/balance', { headers })
    expect(status).to.equal(401)
  })
})
