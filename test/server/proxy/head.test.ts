import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { Challenge } from 'mppx'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../../core/money.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor, type RequestOptions } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

const FEED = '/proxy/tenders/v1/feed'

describe('HEAD on a paid GET', () => {
  const hub = useHub()

  const head = (path: string, options: RequestOptions = {}): Promise<ApiResponse> =>
    ask(hub().url, path, { ...options, method: 'HEAD' })

  it('shows the offer of GET, without a body', async () => {
    const offered = await ask(hub().url, FEED)
    const { status, headers, text } = await head(FEED)
    expect([status, text]).to.deep.equal([402, ''])
    expect(headers['content-type']).to.equal(offered.headers['content-type'])
    const [challenge, ofTheGet] = [headers, offered.headers].map(
      (each) => Challenge.deserialize(String(each['www-authenticate'])).request,
    )
    expect(challenge).to.deep.equal(ofTheGet)
    const [shown, ofGet] = [headers, offered.headers].map((each) =>
      decodePaymentRequiredHeader(String(each['payment-required'])),
    )
    expect(shown!.accepts).to.deep.equal(ofGet!.accepts)
    // Each challenge is new.
    expect(Object.keys(shown!.extensions!)).to.deep.equal(Object.keys(ofGet!.extensions!))
  })

  it('costs nothing and uses no free call, even with a key that can pay', async () => {
    const { apiKey: key, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    const before = await ask(hub().url, `${FEED}?dry_run=1`, { key })
    const { status, headers, text } = await head(FEED, { key })
    expect([status, text, headers['x-charged-microdollars']]).to.deep.equal([200, '', '0'])
    expect((await ask(hub().url, `${FEED}?dry_run=1`, { key })).body).to.deep.equal(before.body)
  })

  it('takes no payment: the GET that follows is paid with it', async () => {
    const eve = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
    const payment = await payFor(eve, hub().url, await ask(hub().url, FEED))
    const paying = { headers: { 'payment-signature': payment } }
    expect((await head(FEED, paying)).headers).not.to.include.keys('payment-response')
    const bought = await ask(hub().url, FEED, paying)
    expect(bought.status, bought.text).to.equal(200)
    expect(bought.headers['x-charged-microdollars']).to.equal('10000')
  })

  it('is refused like any other method where there is no GET', async () => {
    const { status, headers } = await head('/proxy/echo/say')
    expect([status, headers['allow']]).to.deep.equal([405, 'POST'])
    const refused = await ask(hub().url, FEED, { body: {} })
    expect([refused.status, refused.headers['allow']]).to.deep.equal([405, 'GET, HEAD'])
  })
})
