import { expect } from 'chai'
import { Client } from 'pg'
import { getAddress } from 'viem'
import { usd } from '../../../core/money.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'
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

describe('A213 a listed seller whose payee changed', () => {
  const hub = useHub()

  it('is paid only with consent for 30 days, also once its listing shows the payee', async () => {
    const ada = await hub().agent()
    await hub().credit(ada.keyId, CREDITS)
    const admin = new Client({ connectionString: hub().database.url })
    await admin.connect()
    try {
      const { rows } = await admin.query(
        `UPDATE hub.listing SET last_verified_at = now() WHERE url LIKE '%/shout'
         RETURNING id, url, pay_to`,
      )
      const [{ id, url, pay_to: current }] = rows
      const setPayee = (payTo: string) =>
        admin.query('UPDATE hub.listing SET pay_to = $2 WHERE id = $1', [id, payTo])
      await setPayee(SHOP) // the payee as long as anybody remembers
      await admin.query('DELETE FROM hub.listing_change')
      await setPayee(current)
      const shout = (accept_pay_to?: string) => {
        const body = { url, method: 'POST', body: 'hi', accept_pay_to }
        return ask(hub().url, '/proxy/external', { key: ada.apiKey, body })
      }
      const refused = await shout()
      expect([refused.status, refused.body['code']]).to.deep.equal([409, 'pay_to_changed'])
      expect(await shout(current)).to.have.property('status', 200)
      await admin.query(`UPDATE hub.listing_change SET at = now() - interval '31 days'`)
      expect(await shout()).to.have.property('status', 200)
    } finally {
      await admin.end()
    }
  })
})
