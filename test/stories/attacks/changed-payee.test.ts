import { expect } from 'chai'
import { getAddress } from 'viem'
import { usd } from '../../../core/money.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { useAttackFixture } from './fixture.ts'
import { entry, PRICE, SHOP, THIEF } from './sellers.ts'

const CREDITS = usd('1')
const HOST = 'other.test'

describe('A213 a seller that asks for payment to another address than before', () => {
  const fixture = useAttackFixture({ hosts: [HOST] })

  it('is paid only with the consent of the caller to it, and with a caution', async () => {
    const ada = await fixture().createAgent(CREDITS)
    const buys = (payTo: Hex, headers: Record<string, string> = {}) => {
      fixture().sellers.serve(HOST, { accepts: [entry({ payTo })] })
      return fixture().buy(ada, `http://${HOST}/report`, headers)
    }
    const charged = (times: bigint) =>
      fixture().expectMoney(ada, {
        credits: CREDITS - PRICE * times,
        held: 0n,
        signed: Number(times),
        paid: PRICE * times,
      })
    for (const payTo of [SHOP, SHOP]) {
      const { status, headers } = await buys(payTo)
      expect([status, headers['x-upstream-caution']]).to.deep.equal([200, undefined])
    }
    const refused = await buys(THIEF)
    expect([refused.status, refused.body['code']]).to.deep.equal([409, 'pay_to_changed'])
    expect(refused.body).to.deep.include({ pay_to: getAddress(THIEF), charged_microdollars: 0 })
    expect(fixture().sellers.payments, 'signatures').to.have.length(2)
    await charged(2n)
    const accept = (to: string) => buys(THIEF, { 'x-accept-pay-to': to })
    const other = await accept(SHOP)
    expect(other.body, 'consent for another').to.include({ code: 'pay_to_changed' })
    const paid = await accept(THIEF)
    expect([paid.status, paid.headers['x-upstream-caution']]).to.deep.equal([200, 'pay_to_changed'])
    expect((await buys(THIEF)).status, 'no consent for others').to.equal(409)
    expect((await buys(SHOP)).status, 'the known payee').to.equal(200)
    await charged(4n)
  })
})
