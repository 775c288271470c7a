import { decodePaymentRequiredHeader } from '@x402/core/http'
import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { useHub } from '../support/suite.ts'
import { encode, useMeteredPayer } from './metered-payer.ts'
import { metered } from './metered-service.ts'

/** Two settlements of exact payments. */
const LEAST = 400n

describe('A216 a call below the minimum price of x402', () => {
  const hub = useHub({ plugins: [metered('metered')], config: { minX402: usd('0.0002') } })
  const payer = useMeteredPayer(hub)
  const say = (key?: string) => ask(hub().url, '/proxy/echo/say', { key, body: { words: 'hello' } })

  it('is offered for credits only, and the 402 says why', async () => {
    const { status, headers, body } = await say()
    expect([status, body['code']]).to.deep.equal([402, 'payment_required'])
    const { accepts } = decodePaymentRequiredHeader(String(headers['payment-required']))
    expect(accepts).to.deep.equal([])
    expect(body).to.include({ price_microdollars: 100, x402_min_microdollars: 200 })
    expect(body['detail']).to.include('gas would exceed the price')
    const actions = (body['next_steps'] as { action: string }[]).map(({ action }) => action)
    expect(actions).to.deep.equal(['sign_in', 'topup', 'register'])
  })

  it('takes at least its gas for any metered usage, and nothing without usage', async () => {
    const offer = await payer.call('whole', [])
    expect(offer.body).to.include({ x402_min_microdollars: Number(LEAST) })
    expect(offer.body['detail']).to.include('any usage costs at least 400 microdollars')
    let spent = 0n
    for (const [tokens, charged] of [
      [0, 0n],
      [1, LEAST],
      [171, LEAST],
      [172, 402n],
      [9_999, 999n], // the maximum of the call
    ] as const) {
      const steps = [{ meter: tokens, send: 'a' }]
      const { headers } = await payer.call('whole', steps, encode(await payer.sign('whole', steps)))
      expect(headers).to.include({ 'x-charged-microdollars': String(charged) })
      spent += charged
      let record: object | undefined
      await eventually(async () => {
        const sql = 'SELECT quantity, charged FROM hub.call WHERE id = $1'
        ;[record] = (await hub().hub.pool.query(sql, [headers['x-call-id']])).rows
        return record !== undefined
      })
      const quantity = BigInt(Math.min(tokens, 428))
      expect(record).to.deep.equal({ quantity, charged })
      expect(await payer.spent()).to.equal(spent)
    }
  })

  it('is paid by credits', async () => {
    const ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
    expect(await say(ada.apiKey)).to.have.property('status', 200)
  })
})
