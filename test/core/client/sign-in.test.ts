import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { type ClientWallet, HubClient, type HubResponse } from '../../../core/client/index.ts'
import { createSignInHeader } from '../../../core/client/sign-in.ts'
import { usd } from '../../../core/money.ts'
import { statementOf } from '../../../core/payments/receiving/sign-in-statement.ts'
import { countingService, PRICE, resetWork, work } from '../../stories/counted-service.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

const CREDITS = usd('0.5')

describe('a client whose wallet signs in', () => {
  const hub = useHub({ plugins: [countingService] })
  let wallet: ClientWallet
  let client: HubClient
  let keyId: string
  beforeEach(async () => {
    resetWork()
    wallet = { account: privateKeyToAccount(generatePrivateKey()), sandbox: true }
    client = new HubClient({ baseUrl: hub().url, wallet })
    keyId = (await client.register()).keyId
    await hub().credit(keyId, CREDITS)
  })
  const spent = async () => CREDITS - (await hub().balance(keyId))

  it('spends credits of the wallet without a key, once for one idempotency key', async () => {
    const options = { signInUpTo: PRICE, idempotencyKey: 'report-1' }
    const first = await client.call('counted', '/work', {}, options)
    const again = await client.call('counted', '/work', {}, options)
    expect([first.source, first.charged]).to.deep.equal(['credits', PRICE])
    expect(again.body).to.deep.equal(first.body)
    expect([work.done, await spent()]).to.deep.equal([1, PRICE])
  })

  it('buys from an external seller', async () => {
    const order = { url: 'http://seller.test/weather?city=Oslo' }
    const bought = await client.external(order, { signInUpTo: usd('0.02'), maxPrice: usd('0.02') })
    expect(bought.charged).to.equal(usd('0.01'))
    expect(await spent()).to.equal(usd('0.01'))
  })

  it('signs for no higher price than its limit', async () => {
    const calling = client.call('counted', '/work', {}, { signInUpTo: PRICE - 1n })
    const error: unknown = await calling.catch((reason: unknown) => reason)
    expect(String(error)).to.include('not signed')
    expect([work.done, await spent()]).to.deep.equal([0, 0n])
  })

  describe('signs nothing', () => {
    /** The 402 of this hub with changes to its challenge. */
    async function signing(change: (info: Record<string, unknown>) => void) {
      const { headers } = await ask(hub().url, '/proxy/counted/work', { body: {} })
      const text = Buffer.from(String(headers['payment-required']), 'base64').toString()
      const required = JSON.parse(text)
      change(required.extensions['sign-in-with-x'].info)
      const forged = Buffer.from(JSON.stringify(required)).toString('base64')
      const response = { headers: { 'payment-required': forged } } as unknown as HubResponse
      const url = new URL('/proxy/counted/work', hub().url)
      return createSignInHeader(wallet.account, response, url, PRICE).catch(String)
    }
    const FORGERIES = {
      'for another host': (info: Record<string, unknown>) => (info['domain'] = 'other.example'),
      'for a resource of another host': (info: Record<string, unknown>) =>
        (info['uri'] = 'https://other.example/'),
      'for more money': (info: Record<string, unknown>) =>
        (info['statement'] = statementOf(PRICE + 1n)),
      'without a price': (info: Record<string, unknown>) => (info['statement'] = 'Sign in.'),
    }
    for (const [name, forge] of Object.entries(FORGERIES)) {
      it(name, async () => {
        expect(await signing(forge)).to.include('not signed')
        expect(await signing(() => {}), 'unchanged').to.have.property('sign-in-with-x')
      })
    }
  })
})
