import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { resolvePayments } from '../../../core/payments/operations/resolve.ts'
import { realSockets } from '../../core/egress/fixture.ts'
import type { Told } from '../../support/ask.ts'
import { SHOP } from './sellers.ts'
import { type Act, type Buyer, type Order, Suspect } from './suspect.ts'

const AMOUNT = usd('1')
const WALLET = 3n * AMOUNT
const CREDITS = { path: '/v1/credits/purchase', body: { amount_microdollars: Number(AMOUNT) } }
const CALL = { path: '/proxy/echo/say', body: { words: 'hi' } }

/** The hub looks at the chain for seconds before it says that it does not know: all at once. */
describe('a facilitator that fails or lies', function () {
  this.timeout(60_000)
  realSockets()
  let suspect: Suspect
  const made = new Map<string, readonly [Buyer, Told]>()

  const settles: Act = async ({ payment, says }) => says(await suspect.settle(payment))
  const cases: Record<string, readonly [Order, Act]> = {
    /** A083 */
    nothing: [CREDITS, ({ says }) => says({ success: true, transaction: `0x${'ab'.repeat(32)}` })],
    served: [CALL, ({ says }) => says({ success: true, transaction: `0x${'ab'.repeat(32)}` })],
    elsewhere: [CREDITS, ({ payer, says }) => names(says, payer, SHOP, AMOUNT)],
    others: [CREDITS, ({ says }) => names(says, bystander(), suspect.stack.payTo, AMOUNT)],
    less: [CREDITS, ({ payer, says }) => names(says, payer, suspect.stack.payTo, AMOUNT - 1n)],
    denied: [
      CREDITS,
      async ({ payment, says }) => {
        await suspect.settle(payment)
        says({ errorReason: 'insufficient_funds' })
      },
    ],
    /** A082 */
    lost: [
      CREDITS,
      async ({ payment, response }) => {
        await suspect.settle(payment)
        response.destroy()
      },
    ],
    late: [CREDITS, ({ response }) => response.destroy()],
    never: [CREDITS, ({ response }) => response.destroy()],
  }
  const bystander = () => suspect.stack.wallets.agent.account
  /** Says that a payment was made, and names another one. */
  async function names(
    says: Parameters<Act>[0]['says'],
    ...[from, to, value]: Parameters<Suspect['transaction']>
  ): Promise<void> {
    says({ success: true, transaction: await suspect.transaction(from, to, value) })
  }

  before(async () => {
    suspect = await Suspect.open()
    const buyers: [string, Buyer][] = []
    for (const [name, [order, act]] of Object.entries(cases)) {
      buyers.push([name, await suspect.buyer(order, WALLET, act)])
    }
    await Promise.all(
      buyers.map(async ([name, buyer]) => made.set(name, [buyer, await buyer.send()])),
    )
  })
  after(() => suspect?.close())

  const balance = ({ keyId }: Buyer) => suspect.hub.balance(keyId)
  const usdc = ({ wallet }: Buyer) => suspect.stack.chain.balanceOf(wallet.address)
  const resolves = (): Promise<number> => resolvePayments(suspect.hub.hub.ports, 0)
  const codeOf = ({ status, body }: Told) => [status, body['code'] ?? body['state']]

  /** Nobody is asked to pay again, and nothing is credited, whatever was said. */
  async function pending(name: string): Promise<Buyer> {
    const [buyer, told] = made.get(name)!
    expect(codeOf(told)).to.be.deep.oneOf([
      [202, 'pending'],
      [202, 'payment_pending'],
    ])
    expect(told.headers).to.not.have.property('payment-required')
    await resolves()
    expect((await buyer.send()).status).to.equal(202)
    expect(await balance(buyer)).to.equal(0n)
    return buyer
  }
  /** Credited once, for one payment. */
  async function credited(buyer: Buyer): Promise<void> {
    await suspect.stack.rpc('anvil_mine', '0xa') // then it is final
    await resolves()
    const { status, body } = await buyer.send()
    expect([status, body['credited_microdollars']]).to.deep.equal([201, Number(AMOUNT)])
    expect(await balance(buyer)).to.equal(AMOUNT)
    expect(await usdc(buyer)).to.equal(WALLET - AMOUNT)
  }

  describe('A083 is not believed', () => {
    it('when it names a transaction that does not exist', () => pending('nothing'))
    it('when it names a payment of the same payer to somebody else', () => pending('elsewhere'))
    it('when it names a payment of somebody else to the hub', () => pending('others'))
    it('when it names a payment of the same payer that is less', () => pending('less'))
    it('when it says that a payment failed, and it was made', () =>
      credited(made.get('denied')![0]))

    it('so that a call which it did not settle is not answered', async () => {
      await pending('served')
      const [, told] = made.get('served')!
      expect(told.text).to.not.include('"words"')
      expect(await suspect.hub.hub.ledger.balance('income:commission')).to.equal(0n)
    })
  })

  describe('A082 whose answer to a settlement is lost', () => {
    it('has settled: credited once', () => credited(made.get('lost')![0]))

    it('settles later: pending until then, and credited once', async () => {
      const buyer = await pending('late')
      expect(await suspect.settle(buyer.payment)).to.have.property('success', true)
      await credited(buyer)
    })
  })

  describe('A084 that cannot be reached', () => {
    for (const from of ['at once', 'verified'] as const) {
      it(`(${from}) is told as such, and the same payment may be sent again`, async () => {
        const buyer = await suspect.buyer(CREDITS, WALLET, settles)
        const told = await suspect.unreachable(from, () => buyer.send())
        expect(codeOf(told)).to.deep.equal([503, 'facilitator_unavailable'])
        expect([await balance(buyer), await usdc(buyer)]).to.deep.equal([0n, WALLET])
        expect(await buyer.send()).to.have.property('status', 201)
        await credited(buyer)
      })
    }
  })

  describe('what was never settled', () => {
    it('is over when it cannot be any more, and was credited to nobody', async () => {
      await suspect.stack.rpc('evm_increaseTime', 200)
      await suspect.stack.rpc('evm_mine')
      await resolves()
      for (const name of ['nothing', 'elsewhere', 'others', 'less', 'never']) {
        const [buyer] = made.get(name)!
        expect(codeOf(await buyer.send()), name).to.deep.equal([402, 'payment_replayed'])
        expect(await balance(buyer), name).to.equal(0n)
      }
      const { ledger, ports } = suspect.hub.hub
      const onChain = await ports.chain.balanceOf(suspect.stack.payTo)
      const unasked = AMOUNT + (AMOUNT - 1n) // what the lies paid to the hub, for nobody
      expect(await ledger.balance('assets:usdc:base:treasury')).to.equal(unasked - onChain)
      expect(await ledger.balance('assets:usdc:base:in-transit')).to.equal(0n)
    })
  })
})
