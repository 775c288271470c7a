import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { resolvePayments } from '../../../core/payments/operations/resolve.ts'
import type { Payment } from '../../../core/payments/receiving/payment.ts'
import { realSockets } from '../../core/egress/fixture.ts'
import type { ApiResponse } from '../../support/ask.ts'
import { SHOP } from './sellers.ts'
import {
  type Buyer,
  type Order,
  type Rail,
  type SettleBehavior,
  UntrustedFacilitator,
} from './untrusted-facilitator.ts'

const AMOUNT = usd('5')
const WALLET = 3n * AMOUNT
const CREDITS = { path: '/v1/credits/purchase', body: { amount_microdollars: Number(AMOUNT) } }
const CALL = { path: '/proxy/echo/say', body: { words: 'hi' } }

/** All cases run concurrently, because the hub searches the chain for seconds in each. */
describe('a facilitator that fails or lies', () => {
  realSockets()
  let untrusted: UntrustedFacilitator
  const purchases = new Map<string, readonly [Buyer, ApiResponse]>()

  const settles: SettleBehavior = async ({ payment, respond }) =>
    respond(await untrusted.settle(payment))
  const cases: Record<string, readonly [Order, SettleBehavior, Rail?]> = {
    /** A083 */
    nothing: [
      CREDITS,
      ({ respond }) => respond({ success: true, transaction: `0x${'ab'.repeat(32)}` }),
    ],
    served: [
      CALL,
      ({ respond }) => respond({ success: true, transaction: `0x${'ab'.repeat(32)}` }),
    ],
    'served by MPP': [
      CALL,
      ({ respond }) => respond({ success: true, transaction: `0x${'ab'.repeat(32)}` }),
      'MPP',
    ],
    elsewhere: [CREDITS, ({ payer, respond }) => names(respond, payer, SHOP, AMOUNT)],
    others: [CREDITS, ({ respond }) => names(respond, bystander(), untrusted.stack.payTo, AMOUNT)],
    less: [
      CREDITS,
      ({ payer, respond }) => names(respond, payer, untrusted.stack.payTo, AMOUNT - 1n),
    ],
    denied: [
      CREDITS,
      async ({ payment, respond }) => {
        await untrusted.settle(payment)
        respond({ errorReason: 'insufficient_funds' })
      },
    ],
    /** A082 */
    lost: [
      CREDITS,
      async ({ payment, response }) => {
        await untrusted.settle(payment)
        response.destroy()
      },
    ],
    'lost by MPP': [
      CREDITS,
      async ({ payment, response }) => {
        await untrusted.settle(payment)
        response.destroy()
      },
      'MPP',
    ],
    late: [
      CREDITS,
      ({ payment, response }) => {
        late.push(payment)
        response.destroy()
      },
    ],
    never: [CREDITS, ({ response }) => response.destroy()],
  }
  const late: Payment[] = []
  const bystander = () => untrusted.stack.wallets.agent.account
  /** Claims success and names the transaction of another payment. */
  async function names(
    respond: Parameters<SettleBehavior>[0]['respond'],
    ...[from, to, value]: Parameters<UntrustedFacilitator['createTransaction']>
  ): Promise<void> {
    respond({ success: true, transaction: await untrusted.createTransaction(from, to, value) })
  }

  before(async () => {
    untrusted = await UntrustedFacilitator.open()
    const buyers: [string, Buyer][] = []
    for (const [name, [order, act, rail]] of Object.entries(cases)) {
      buyers.push([name, await untrusted.createBuyer(order, WALLET, act, rail)])
    }
    await Promise.all(
      buyers.map(async ([name, buyer]) => purchases.set(name, [buyer, await buyer.send()])),
    )
  })
  after(() => untrusted?.close())

  const balance = ({ keyId }: Buyer) => untrusted.hub.balance(keyId)
  const usdc = ({ wallet }: Buyer) => untrusted.stack.chain.balanceOf(wallet.address)
  const resolves = (): Promise<number> => resolvePayments(untrusted.hub.hub.paymentDeps, 0)
  const codeOf = ({ status, body }: ApiResponse) => [status, body['code'] ?? body['state']]

  /** Asserts that the buyer is not asked to pay again and nothing is credited. */
  async function pending(name: string): Promise<Buyer> {
    const [buyer, response] = purchases.get(name)!
    expect(codeOf(response)).to.be.deep.oneOf([
      [202, 'pending'],
      [202, 'payment_pending'],
    ])
    expect(response.headers).to.not.have.property('payment-required')
    await resolves()
    expect((await buyer.send()).status).to.equal(202)
    expect(await balance(buyer)).to.equal(0n)
    return buyer
  }
  /** Asserts one credit for one payment. */
  async function credited(buyer: Buyer): Promise<void> {
    await untrusted.stack.rpc('anvil_mine', '0xa') // makes it final
    await resolves()
    const { status, body } = await buyer.send()
    expect([status, body['credited_microdollars']]).to.deep.equal([201, Number(AMOUNT)])
    expect(await balance(buyer)).to.equal(AMOUNT)
    expect(await usdc(buyer)).to.equal(WALLET - AMOUNT)
  }

  describe('A083 is not trusted', () => {
    it('if it names a nonexistent transaction', () => pending('nothing'))
    it('if it names a payment of the same payer to another payee', () => pending('elsewhere'))
    it('if it names a payment of another payer to the hub', () => pending('others'))
    it('if it names a smaller payment of the same payer', () => pending('less'))
    it('if it reports failure of a payment that was made', () =>
      credited(purchases.get('denied')![0]))

    for (const name of ['served', 'served by MPP']) {
      it(`so a call that it did not settle is not delivered (${name})`, async () => {
        await pending(name)
        const [, response] = purchases.get(name)!
        expect(response.text).to.not.include('"words"')
        expect(await untrusted.hub.hub.ledger.balance('income:commission')).to.equal(0n)
      })
    }
  })

  describe('A082 whose settlement response is lost', () => {
    for (const name of ['lost', 'lost by MPP']) {
      it(`has settled: the buyer is credited once (${name})`, () =>
        credited(purchases.get(name)![0]))
    }

    it('settles later: the payment stays pending and is then credited once', async () => {
      const buyer = await pending('late')
      expect(await untrusted.settle(late[0]!)).to.have.property('success', true)
      await credited(buyer)
    })
  })

  describe('A084 that cannot be reached', () => {
    for (const [from, rail] of [
      ['at once', 'x402'],
      ['verified', 'x402'],
      ['at once', 'MPP'],
      ['verified', 'MPP'],
    ] as const) {
      it(`(${from}) is unavailable, and takes the same payment later, by ${rail}`, async () => {
        const buyer = await untrusted.createBuyer(CREDITS, WALLET, settles, rail)
        const response = await untrusted.whileUnreachable(from, () => buyer.send())
        expect(codeOf(response)).to.deep.equal([503, 'facilitator_unavailable'])
        expect([await balance(buyer), await usdc(buyer)]).to.deep.equal([0n, WALLET])
        expect(await buyer.send()).to.have.property('status', 201)
        await credited(buyer)
      })
    }
  })

  describe('that never settles a payment', () => {
    it('leaves it failed after its expiry and credited to nobody', async () => {
      await untrusted.stack.rpc('evm_increaseTime', 200)
      await untrusted.stack.rpc('evm_mine')
      await resolves()
      for (const name of ['nothing', 'elsewhere', 'others', 'less', 'never']) {
        const [buyer] = purchases.get(name)!
        expect(codeOf(await buyer.send()), name).to.deep.equal([402, 'payment_replayed'])
        expect(await balance(buyer), name).to.equal(0n)
      }
      const { ledger, paymentDeps: ports } = untrusted.hub.hub
      const onChain = await ports.chain.balanceOf(untrusted.stack.payTo)
      const unasked = AMOUNT + (AMOUNT - 1n) // paid to the hub by the lies, for nobody
      expect(await ledger.balance('assets:usdc:base:treasury')).to.equal(unasked - onChain)
      expect(await ledger.balance('assets:usdc:base:in-transit')).to.equal(0n)
    })
  })
})
