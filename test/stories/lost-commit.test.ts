import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { Pool } from 'pg'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { fund } from '../../server/sandbox/wallets.ts'
import { ask, payFor } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'
import { PRICE, works } from './lost-response-services.ts'

type Query = (...args: unknown[]) => Promise<unknown>

/**
 * Loses the connection after the first statement with a text was committed, while `work` runs.
 * @returns the number of lost confirmations
 */
async function loseConfirmation(of: string, work: () => Promise<void>): Promise<number> {
  const original = Reflect.get(Pool.prototype, 'query') as Query
  let lost = 0
  Pool.prototype.query = async function lose(this: Pool, ...args: unknown[]) {
    const result = await original.apply(this, args)
    const [query] = args as [string | { readonly text: string }]
    const text = typeof query === 'string' ? query : query.text
    if (!text.includes(of) || lost > 0) return result
    lost++
    throw new Error('Connection terminated unexpectedly')
  } as typeof Pool.prototype.query
  try {
    await work()
  } finally {
    Reflect.set(Pool.prototype, 'query', original)
  }
  return lost
}

describe('a payment to a seller whose commit was stored, but not confirmed', () => {
  const cap = usd('0.01')
  const outflow = { call: usd('1'), key: cap, host: cap, platform: cap }
  const hub = useHub({ config: { outflow } })

  it('is sent once, also if its own amount has reached the daily limit', async () => {
    expect(cap).to.equal(PRICE)
    const ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
    const lost = await loseConfirmation('commit_payment', async () => {
      const url = `${hub().sandbox!.sellerUrl}/weather?city=Oslo`
      const bought = await ask(hub().url, '/proxy/external', { key: ada.apiKey, body: { url } })
      expect(bought.status, bought.text).to.equal(200)
    })
    expect(lost).to.equal(1)
    expect(usd('1') - (await hub().balance(ada.keyId))).to.equal(PRICE)
  })
})

describe('a settlement whose beginning was stored with its response, but not confirmed', () => {
  const hub = useHub({ plugins: [works] })

  it('is not sent, and the same payment pays once for one response', async () => {
    const { url, sandbox } = hub()
    const eve = privateKeyToAccount(generatePrivateKey())
    await fund(sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
    const order = (headers: Record<string, string>) =>
      ask(url, '/proxy/works/small', { body: {}, headers })
    const paid = async () => usd('1') - (await hub().hub.paymentDeps.chain.balanceOf(eve.address))
    const headers = { 'payment-signature': await payFor(eve, url, await order({})) }
    const lost = await loseConfirmation('hub.kept_answer', async () => {
      const first = await order(headers)
      expect([first.status, await paid()], first.text).to.deep.equal([503, 0n])
    })
    expect(lost).to.equal(1)
    const second = await order(headers)
    expect([second.status, await paid()], second.text).to.deep.equal([200, PRICE])
    const third = await order(headers)
    expect([third.text, await paid()]).to.deep.equal([second.text, PRICE])
  })
})
