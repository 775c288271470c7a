import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../core/money.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { ask, payFor } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { useHub } from '../support/suite.ts'

const AMOUNT = usd('5')

describe('a repeated purchase of credits', () => {
  const hub = useHub()
  const eve = privateKeyToAccount(generatePrivateKey())
  beforeEach(() => fund(hub().sandbox!.rpcUrl, eve.address, { usdc: 2n * AMOUNT }))
  const buyer = async () => {
    const { apiKey: key, keyId } = await hub().agent()
    const buy = (headers: Record<string, string> = {}, purchase = 'one') =>
      ask(hub().url, '/v1/credits/purchase', {
        key,
        body: { amount_microdollars: Number(AMOUNT), purchase_id: purchase },
        headers,
      })
    const sign = async (purchase?: string) => ({
      'payment-signature': await payFor(eve, hub().url, await buy({}, purchase)),
    })
    return { buy, sign, balance: () => hub().balance(keyId) }
  }

  it('settles its payment again if nothing is known to be sent', async () => {
    const { buy, sign, balance } = await buyer()
    const [payment, other] = [await sign(), await sign('other')]
    const facilitator = hub().sandbox!.money.facilitator.batched!
    const { settle } = facilitator
    facilitator.settle = () => Promise.reject(new Error('nobody responds'))
    expect((await buy(payment)).status).to.equal(202)
    facilitator.settle = settle
    expect((await buy(other)).body).to.include({ state: 'pending' })
    await eventually(async () => (await buy(payment)).status === 201)
    expect((await buy(other)).status).to.equal(201)
    expect(await balance()).to.equal(AMOUNT)
  })

  it('posts its payment, without the job, if the database was lost before that', async () => {
    const { buy, sign, balance } = await buyer()
    const payment = await sign()
    const { claims } = hub().hub.paymentDeps
    claims.takeUnfinished = async () => [] // the job finds nothing
    claims.early.grant = () => Promise.reject(new Error('Connection terminated'))
    expect((await buy(payment)).body).to.include({ state: 'pending' })
    Reflect.deleteProperty(claims.early, 'grant')
    await eventually(async () => (await buy(payment)).status === 201)
    Reflect.deleteProperty(claims, 'takeUnfinished')
    expect(await balance()).to.equal(AMOUNT)
  })

  it('posts its payment, without the job, if its process was killed before that', async () => {
    const { buy, sign, balance } = await buyer()
    const payment = await sign()
    const { pool, paymentDeps } = hub().hub
    const { claims } = paymentDeps
    claims.takeUnfinished = async () => [] // the job finds nothing
    const [reached, killed] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()]
    claims.early.grant = () => {
      reached.resolve()
      return killed.promise
    }
    const first = buy(payment)
    await reached.promise
    Reflect.deleteProperty(claims.early, 'grant')
    await pool.query('UPDATE hub.payment_claim SET process = gen_random_uuid()')
    await pool.query(`UPDATE hub.process SET steady_since = now() - interval '1 hour'`)
    expect((await buy(payment)).body).to.include({ code: 'payment_pending' })
    await eventually(async () => (await buy(payment)).status === 201)
    Reflect.deleteProperty(claims, 'takeUnfinished')
    killed.reject(new Error('the process was killed'))
    await first
    expect(await balance()).to.equal(AMOUNT)
  })
})
