import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { systemClock } from '../../core/clock.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { parseOffer } from '../../core/payments/paying/offer.ts'
import { chooseTerms } from '../../core/payments/paying/terms.ts'
import { signPayment } from '../../core/payments/paying/x402-client.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { useHub } from '../support/suite.ts'
import { countingService, PRICE, resetWork, work } from './counted-service.ts'
import { walletEmptier } from './empty-wallet.ts'

/** Guarantees for payers without a key, whatever happens on the way. */
describe('calls paid by x402', () => {
  const hub = useHub({ plugins: [countingService] })
  let eve: ReturnType<typeof privateKeyToAccount>
  beforeEach(async () => {
    resetWork()
    eve = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
  })
  const send = (payment?: string): Promise<ApiResponse> =>
    ask(hub().url, '/proxy/counted/work', {
      body: {},
      headers: payment === undefined ? {} : { 'payment-signature': payment },
    })
  const sign = async (offered?: ApiResponse): Promise<string> =>
    payFor(eve, hub().url, offered ?? (await send()))
  const offered = ({ headers }: ApiResponse) =>
    JSON.parse(Buffer.from(String(headers['payment-required']), 'base64').toString())
  const usdc = (): Promise<bigint> => hub().hub.paymentDeps.chain.balanceOf(eve.address)
  const query = async (sql: string) => (await hub().hub.pool.query(sql)).rows

  it('are replayed for the same payment, without work or charge', async () => {
    const payment = await sign()
    const first = await send(payment)
    const again = await send(payment)
    expect([first.status, again.status]).to.deep.equal([200, 200])
    expect(again.body).to.deep.equal(first.body)
    expect(again.headers).to.include({
      'idempotency-replayed': 'true',
      'x-charged-microdollars': '0',
      'x-call-id': first.headers['x-call-id'],
      'x-receipt': first.headers['x-receipt'],
    })
    expect(again.headers['payment-response']).to.be.a('string')
    expect(work.done).to.equal(1)
    expect(await usdc()).to.equal(usd('1') - PRICE)
  })

  it('are not replayed to others who read the payment on the chain', async () => {
    const payment = await sign()
    await send(payment)
    const ada = await hub().agent()
    const stolen = await ask(hub().url, '/proxy/counted/work', {
      body: {},
      key: ada.apiKey,
      headers: { 'payment-signature': payment },
    })
    expect(stolen.status).to.equal(402)
    expect(stolen.body).to.include({ code: 'payment_replayed', reason: 'other_client' })
    expect(stolen.headers, 'no offer to pay again').to.not.have.property('payment-required')
    expect(work.done).to.equal(1)
  })

  it('are not paid again from later credits', async () => {
    const ada = await hub().agent()
    const send = (payment: string) =>
      ask(hub().url, '/proxy/counted/work', {
        body: {},
        key: ada.apiKey,
        headers: { 'payment-signature': payment },
      })
    const payment = await sign()
    expect((await send(payment)).headers).to.include({ 'x-payment-source': 'x402' })
    await hub().credit(ada.keyId, usd('1'))
    expect((await send(payment)).headers).to.include({ 'idempotency-replayed': 'true' })
    expect(await hub().balance(ada.keyId)).to.equal(usd('1'))
    expect(work.done).to.equal(1)
  })

  it('cannot be paid by an authorization that never expires', async () => {
    const terms = await send()
    const late = { ...offered(terms), accepts: offered(terms).accepts }
    late.accepts[0].maxTimeoutSeconds = 86_400
    const header = Buffer.from(JSON.stringify(late)).toString('base64')
    const payment = await signLong(header)
    const { status, body } = await send(payment)
    expect([status, body['reason']]).to.deep.equal([402, 'authorization_lives_too_long'])
    expect(work.done).to.equal(0)
  })

  it('store the response encrypted', async () => {
    await send(await sign())
    const [row] = await query('SELECT sealed FROM hub.kept_answer ORDER BY id DESC LIMIT 1')
    expect(row.sealed.includes('done')).to.equal(false)
  })

  it('report that a response has expired, and its payment', async () => {
    const payment = await sign()
    await send(payment)
    await hub().hub.pool.query('DELETE FROM hub.kept_answer')
    const { status, headers, body } = await send(payment)
    expect([status, body['code']]).to.deep.equal([410, 'answer_expired'])
    expect(body['transaction']).to.match(/^0x[0-9a-f]{64}$/)
    expect(headers).to.not.have.property('payment-required')
    expect(work.done).to.equal(1)
  })

  it('must be paid upfront after a payer failed to pay for work', async () => {
    const spent = await walletEmptier(hub(), eve.address)
    work.before = spent
    const failed = await send(await sign())
    expect([failed.status, failed.body['code']]).to.deep.equal([402, 'payment_invalid'])
    expect(offered(failed).accepts[0].extra).to.include({ paymentFlow: 'upfront' })
    expect(work.done).to.equal(1)
    work.before = async () => {}
    await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })

    const refused = await send(await sign())
    expect(refused.body).to.include({ code: 'payment_invalid', reason: 'upfront_required' })
    expect(offered(refused).accepts[0].extra).to.include({ paymentFlow: 'upfront' })
    const prepaid = await sign(refused)
    work.before = async () => {
      expect(await usdc(), 'paid before the work').to.equal(usd('1') - PRICE)
      throw new Error('the provider is down')
    }
    const failedWork = await send(prepaid)
    expect(failedWork).to.have.property('status', 502)
    expect(failedWork.body['payment']).to.include({ state: 'kept' })
    expect(failedWork.headers).to.have.property('payment-response')
    work.before = async () => {}
    const served = await send(prepaid)
    expect(served.status).to.equal(200)
    expect(await usdc(), 'paid once').to.equal(usd('1') - PRICE)
    const repeated = await send(prepaid)
    expect(repeated.body).to.deep.equal(served.body)
    expect(work.done).to.equal(2)
  })

  describe('A215 are credits of the payer if a failed payment arrives after all', () => {
    /** A payment fails after the work, another one pays, and then the first one arrives too. */
    const payTwice = async (): Promise<string> => {
      work.before = await walletEmptier(hub(), eve.address)
      const payment = await sign()
      const failed = await send(payment)
      expect(failed).to.have.property('status', 402)
      work.before = async () => {}
      await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
      expect(await send(await sign(failed))).to.have.property('status', 200)
      await submit(payment)
      return payment
    }
    const earned = () => hub().hub.ledger.balance('liabilities:providers:example:counted')
    const suspended = () => hub().hub.ledger.balance('liabilities:suspense')
    const resolved = async (): Promise<boolean> => {
      await resolvePayments(hub().hub.paymentDeps, 0)
      const [row] = await query(
        `SELECT count(*)::integer AS n FROM hub.payment_claim
         WHERE state = 'confirmed' AND deposited AND payer = '${eve.address.toLowerCase()}'`,
      )
      return row.n === 1
    }
    const register = async () => {
      const wallet = { account: eve, sandbox: true }
      return new HubClient({ baseUrl: hub().url, wallet }).register()
    }

    it('at once if its wallet has a key, and the provider is paid once', async () => {
      const { keyId } = await register()
      const before = await earned()
      const payment = await payTwice()
      await eventually(resolved)
      expect(await hub().balance(keyId)).to.equal(PRICE)
      expect((await earned()) - before).to.equal((PRICE * 9n) / 10n)
      const again = await send(payment)
      expect([again.status, again.body['reason']]).to.deep.equal([402, 'payment_deposited'])
    })

    it('once its wallet registers, and until then an unidentified deposit', async () => {
      const before = await suspended()
      await payTwice()
      await eventually(resolved)
      expect((await suspended()) - before).to.equal(PRICE)
      const { keyId } = await register()
      for (let times = 0; times < 2; times++) await resolvePayments(hub().hub.paymentDeps, 0)
      expect(await hub().balance(keyId)).to.equal(PRICE)
      expect(await suspended()).to.equal(before)
    })

    const keyed = async () => {
      const ada = await hub().agent()
      const sendKeyed = (headers: Record<string, string>): Promise<ApiResponse> =>
        ask(hub().url, '/proxy/counted/work', {
          body: {},
          key: ada.apiKey,
          headers: { 'idempotency-key': 'once', ...headers },
        })
      return { ...ada, sendKeyed }
    }

    it('a day later if credits have paid under the Idempotency-Key of its attempt', async () => {
      const { keyId: eveKey } = await register()
      const { keyId, sendKeyed } = await keyed()
      work.before = () => Promise.reject(new Error('broken'))
      const payment = await sign()
      expect(await sendKeyed({ 'payment-signature': payment })).to.have.property('status', 502)
      work.before = async () => {}
      await hub().credit(keyId, usd('1'))
      expect((await sendKeyed({})).headers).to.include({ 'x-payment-source': 'credits' })
      await submit(payment)
      const sold = `hub.payment_claim WHERE payer = '${eve.address.toLowerCase()}'`
      await eventually(async () => {
        await resolvePayments(hub().hub.paymentDeps, 0)
        return (await query(`SELECT state FROM ${sold}`))[0].state === 'confirmed'
      })
      await query(
        `UPDATE hub.payment_claim SET claimed_at = claimed_at - interval '1 day'
         WHERE id IN (SELECT id FROM ${sold})`,
      )
      await resolvePayments(hub().hub.paymentDeps, 0)
      expect(await hub().balance(eveKey)).to.equal(PRICE)
    })

    it('and pays for no call under the Idempotency-Key of the failed one', async () => {
      const { sendKeyed } = await keyed()
      work.before = await walletEmptier(hub(), eve.address)
      const payment = await sign()
      expect(await sendKeyed({ 'payment-signature': payment })).to.have.property('status', 402)
      await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
      await submit(payment)
      await eventually(resolved)
      work.before = async () => {}
      const again = await sendKeyed({})
      expect([again.status, again.body['code']]).to.deep.equal([402, 'insufficient_credits'])
      expect(work.done).to.equal(1)
    })
  })

  /** Signs a payment valid for a day, for the actual offer. */
  const signLong = async (header: string): Promise<string> => {
    const policy = { host: new URL(hub().url).hostname, maxAmount: usd('1'), ownWallets: [] }
    const headers = { 'payment-required': header }
    const terms = chooseTerms(parseOffer({ headers, body: Buffer.from('') }), policy)
    const { value } = (await signPayment(eve, terms, systemClock.now(), 86_400n)).header
    const payload = JSON.parse(Buffer.from(value, 'base64').toString())
    payload.accepted.maxTimeoutSeconds = offered(await send()).accepts[0].maxTimeoutSeconds
    return Buffer.from(JSON.stringify(payload)).toString('base64')
  }

  /** Settles a payment on the chain without the hub's knowledge, as a lying facilitator could. */
  const submit = async (payment: string): Promise<void> => {
    const payload = JSON.parse(Buffer.from(payment, 'base64').toString())
    await hub().sandbox!.money.facilitator.settle(payload, payload.accepted)
  }
})
