import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { Pool } from 'pg'
import { ask } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'
import { PRICE } from './lost-response-services.ts'

type Query = (...args: unknown[]) => Promise<unknown>

describe('a payment to a seller whose commit was stored, but not confirmed', () => {
  const cap = usd('0.01')
  const outflow = { call: usd('1'), key: cap, host: cap, platform: cap }
  const hub = useHub({ config: { outflow } })

  it('is sent once, also if its own amount has reached the daily limit', async () => {
    expect(cap).to.equal(PRICE)
    const ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
    const query = Reflect.get(Pool.prototype, 'query') as Query
    let lost = 0
    Pool.prototype.query = async function lose(this: Pool, ...args: unknown[]) {
      const result = await query.apply(this, args)
      const [text] = args
      if (typeof text !== 'string' || !text.includes('commit_payment') || lost > 0) return result
      lost++
      throw new Error('Connection terminated unexpectedly')
    } as typeof Pool.prototype.query
    try {
      const url = `${hub().sandbox!.sellerUrl}/weather?city=Oslo`
      const bought = await ask(hub().url, '/proxy/external', { key: ada.apiKey, body: { url } })
      expect(bought.status, bought.text).to.equal(200)
    } finally {
      Reflect.set(Pool.prototype, 'query', query)
    }
    expect(lost).to.equal(1)
    expect(usd('1') - (await hub().balance(ada.keyId))).to.equal(PRICE)
  })
})
