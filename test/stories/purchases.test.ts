import { expect } from 'chai'
import { generatePrivateKey, type LocalAccount, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../core/money.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'

const AMOUNT = usd('5')
const LARGE = usd('2000')

/** Runtime code that returns 32 bytes for every call: the four given ones, then zeros. */
const answering = (selector: string): string => `0x63${selector}60e01b60005260206000f3`
const VALID = answering('1626ba7e') // the magic value of ERC-1271
const INVALID = answering('ffffffff')

describe('purchases of credits', () => {
  const hub = useHub()
  let ada: TestAgent
  let wallet: LocalAccount
  beforeEach(async () => {
    ada = await hub().agent()
    wallet = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, wallet.address, { usdc: 10n * AMOUNT })
  })
  const buy = (order: object = {}, payment?: string): Promise<ApiResponse> =>
    ask(hub().url, '/v1/credits/purchase', {
      key: ada.apiKey,
      body: { amount_microdollars: Number(AMOUNT), ...order },
      headers: payment === undefined ? {} : { 'payment-signature': payment },
    })
  const sign = async (order?: object, by = wallet): Promise<string> =>
    payFor(by, hub().url, await buy(order))
  const credits = () => hub().balance(ada.keyId)
  const usdc = () => hub().hub.paymentDeps.chain.balanceOf(wallet.address)

  it('with an id are paid once, even by another payment', async () => {
    const order = { purchase_id: 'order-1' }
    const [one, other] = [await sign(order), await sign(order)]
    const first = await buy(order, one)
    const second = await buy(order, other)
    expect([first.status, second.status]).to.deep.equal([201, 201])
    expect(second.body['purchase_id']).to.equal(first.body['purchase_id'])
    expect(await credits()).to.equal(AMOUNT)
    expect(await usdc()).to.equal(9n * AMOUNT)
    const response = await buy(order)
    expect(response, 'nobody is asked to pay again').to.have.property('status', 201)
    expect(response.body).to.deep.equal(second.body)
  })

  it('with an id are paid once by eight concurrent payments', async () => {
    const order = { purchase_id: 'order-2' }
    const payments = await Promise.all(Array.from({ length: 8 }, () => sign(order)))
    const responses = await Promise.all(payments.map((payment) => buy(order, payment)))
    for (const { status } of responses) expect(status).to.be.oneOf([201, 202])
    expect(new Set(responses.map(({ body }) => body['purchase_id'])).size).to.equal(1)
    expect(await credits()).to.equal(AMOUNT)
    expect(await usdc()).to.equal(9n * AMOUNT)
  })

  it('bind their id to one amount and one key', async () => {
    const order = { purchase_id: 'order-3' }
    await buy(order, await sign(order))
    const dearer = { ...order, amount_microdollars: 2 * Number(AMOUNT) }
    const reused = await buy(dearer)
    expect(reused).to.have.property('status', 422)
    expect(reused.body).to.include({ code: 'idempotency_key_reused', charged_microdollars: 0 })
    ada = await hub().agent()
    expect(await buy(order, await sign(order))).to.have.property('status', 201)
    expect(await credits()).to.equal(AMOUNT)
  })

  it('of more than 1,000 USD are credited once, when their payment is final', async () => {
    const { rpcUrl } = hub().sandbox!
    await fund(rpcUrl, wallet.address, { usdc: LARGE })
    const order = { amount_microdollars: Number(LARGE) }
    const payment = await sign(order)
    for (const answer of [await buy(order, payment), await buy(order, payment)]) {
      expect(answer).to.have.property('status', 202)
      expect(answer.body).to.include({ state: 'pending', credited_microdollars: 0 })
    }
    expect(await usdc(), 'it is paid').to.equal(10n * AMOUNT)
    expect(await buy({}, await sign()), 'a small one').to.have.property('status', 201)
    expect(await credits()).to.equal(AMOUNT)
    await callRpc(rpcUrl, 'anvil_mine', ['0x6'])
    await eventually(async () => (await resolvePayments(hub().hub.paymentDeps, 0)) === 0)
    expect(await credits()).to.equal(LARGE + AMOUNT)
    expect(await buy(order, payment)).to.have.property('status', 201)
    expect(await credits()).to.equal(LARGE + AMOUNT)
  })

  it('can be paid by a contract wallet (ERC-1271)', async () => {
    const signature = `0x${'5a'.repeat(66)}` as const
    const contract = { ...wallet, signTypedData: async () => signature } as LocalAccount
    await callRpc(hub().sandbox!.rpcUrl, 'anvil_setCode', [wallet.address, INVALID])
    const refused = await buy({}, await sign({}, contract))
    expect(refused).to.have.property('status', 402)
    expect(await usdc()).to.equal(10n * AMOUNT)
    await callRpc(hub().sandbox!.rpcUrl, 'anvil_setCode', [wallet.address, VALID])
    const bought = await buy({}, await sign({}, contract))
    expect(bought).to.have.property('status', 201)
    expect(await credits()).to.equal(AMOUNT)
    expect(await usdc()).to.equal(9n * AMOUNT)
  })
})
