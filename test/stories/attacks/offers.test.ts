import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { BAD_TERMS, dealings, SHOP_URL, TOO_DEAR } from './dealings.ts'
import { type Change, entry, entryV1, PRICE, THIEF } from './sellers.ts'
import { useStage } from './stage.ts'

/** What the hub pays for one call at most. */
const CAP = usd('1')
const FAKE_TOKEN = '0x600d000000000000000000000000000000900d00'
const MAINNET_USDC = '0xA0b86991c6218b36c1D19D4a2e9Eb0cE3606eB48'

/** The attack categories of x402 that lie in the terms that a seller offers. */
describe('attacks in the terms of an offer', () => {
  const stage = useStage({ hosts: ['shop.test'] })
  const { refused, bought } = dealings(stage)

  describe('accepts_ordering: of several ways to pay, the cheapest good one', () => {
    const first: readonly [string, Change][] = [
      ['a dearer one', { amount: '990000' }],
      ['one of 18 decimals', { amount: '20000000000000000' }],
      ['one for another payee, dearer by a unit', { amount: String(PRICE + 1n), payTo: THIEF }],
      ['a cheaper one of another network', { amount: '1', network: 'eip155:1' }],
      ['a cheaper one of another token', { amount: '1', asset: FAKE_TOKEN }],
    ]
    for (const [title, change] of first) {
      it(`is paid, though ${title} comes first`, () =>
        bought({ accepts: [entry(change), entry()] }))
    }
  })

  describe('asset_swap (A091): only USDC is paid with', () => {
    const swaps: readonly [string, Change][] = [
      ['a token of somebody’s own', { asset: FAKE_TOKEN, amount: '1' }],
      ['USDC by its name alone', { asset: 'USDC' }],
      ['a forged EIP-712 name', { extra: { name: 'Gold', version: '2' } }],
      ['a forged EIP-712 version', { extra: { name: 'USD Coin', version: '1' } }],
    ]
    for (const [title, change] of swaps) {
      it(`not ${title}`, () =>
        refused(
          { accepts: [entry(change)], resource: { url: SHOP_URL, description: 'A fee of $0.01.' } },
          BAD_TERMS,
        ))
    }
  })

  describe('authorization_lifetime: a signature is good for a minute', () => {
    it('A088 not for the ten years that a seller wants', () =>
      refused({ accepts: [entry({ maxTimeoutSeconds: 315_360_000 })] }, BAD_TERMS))

    it('nor for a week that is called 15 minutes', () => {
      const resource = { url: SHOP_URL, description: 'The usual window of 15 minutes.' }
      return refused({ accepts: [entry({ maxTimeoutSeconds: 604_800 })], resource }, BAD_TERMS)
    })

    it('nor for the day that would be allowed', async () => {
      await bought({ accepts: [entry({ maxTimeoutSeconds: 86_400 })] })
      const [payment] = stage().sellers.payments
      const now = BigInt(stage().clock.now().getTime()) / 1_000n
      expect(BigInt(payment!.payload.authorization.validBefore) <= now + 60n).to.equal(true)
    })

    it('so that one which was kept is worth nothing, and its price goes back', async () => {
      const ada = await stage().agent()
      const accepts = [entry({ maxTimeoutSeconds: 86_400 })]
      stage().sellers.at('shop.test', { accepts, paid: ({ says }) => says(500) })
      expect(await stage().buys(ada, SHOP_URL)).to.have.property('status', 502)
      await stage().passes(91)
      const [payment] = stage().sellers.payments
      expect(await stage().sellers.settle(payment!)).to.have.property('success', false)
      await stage().resolves()
      await stage().expects(ada, { credits: usd('1'), held: 0n, signed: 1, paid: 0n })
    })
  })

  describe('price_bait: the offer is the price, and the caller says how much it may be', () => {
    const bait = { resource: { url: SHOP_URL, description: 'Only $0.003 per image!' } }

    it('A087 a dearer offer than the caller’s maximum is not signed', async () => {
      const accepts = [entry({ amount: '990000' })]
      const headers = { 'x-max-price': '10000' }
      const { body } = await refused({ accepts, ...bait }, TOO_DEAR, { headers })
      expect(body).to.include({ price_microdollars: 990_000, max_microdollars: 10_000 })
    })

    it('one unit above the maximum is too much, the maximum itself is not', async () => {
      await refused(bait, TOO_DEAR, { headers: { 'x-max-price': String(PRICE - 1n) } })
      stage().sellers.clear()
      await bought(bait, { 'x-max-price': String(PRICE) })
    })

    it('a seller that asks for more once it has a signature gets no second one', async () => {
      const ada = await stage().agent()
      const dearer = entry({ amount: '990000' })
      const offer = Buffer.from(JSON.stringify({ x402Version: 2, accepts: [dearer] }))
      stage().sellers.at('shop.test', {
        paid: ({ says }) => says(402, '', { 'payment-required': offer.toString('base64') }),
      })
      const { status, body } = await stage().buys(ada, SHOP_URL)
      expect([status, body['code']]).to.deep.equal([502, 'upstream_payment_rejected'])
      expect(stage().sellers.payments).to.have.length(1)
      await stage().expects(ada, { credits: usd('1') - PRICE, held: PRICE, signed: 1, paid: 0n })
    })
  })

  describe('rail_switch (A091): only exact payments on Base are made', () => {
    const rails: readonly [string, Change][] = [
      ['Ethereum', { network: 'eip155:1', asset: MAINNET_USDC }],
      ['a test network of Base', { network: 'eip155:84532' }],
      ['Solana', { network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', asset: 'EPjFWdd5Aufq' }],
      ['Base by its name of version 1', { network: 'base' }],
      ['another scheme', { scheme: 'upto' }],
      ['a transfer by Permit2', { extra: { ...entry().extra, assetTransferMethod: 'permit2' } }],
    ]
    for (const [title, change] of rails) {
      it(`not on ${title}`, () => refused({ accepts: [entry(change)] }, BAD_TERMS))
    }

    it('nor because version 1 calls another chain so', () =>
      refused((_, response) => {
        const body = { x402Version: 1, accepts: [entryV1({ network: 'ethereum' })] }
        response.writeHead(402).end(JSON.stringify(body))
      }, BAD_TERMS))
  })

  describe('recipient_redirect: the hub pays nobody of its own house', () => {
    for (const name of ['treasury', 'spend', 'gas'] as const) {
      it(`not its ${name} wallet`, () => {
        const { address } = stage().hub.sandbox!.wallets[name].account
        return refused({ accepts: [entry({ payTo: address.toLowerCase() })] }, BAD_TERMS)
      })
    }
  })

  describe('unit_confusion: amounts are whole units of USDC, as our own table has them', () => {
    const tooMuch: readonly [string, Change][] = [
      ['$50 with a false note on its decimals', { amount: '50000000', decimals: 18 }],
      ['18 decimals', { amount: '20000000000000000' }],
      ['one unit above the cap', { amount: String(CAP + 1n) }],
      ['more than any number', { amount: '9'.repeat(78) }],
    ]
    for (const [title, { decimals, ...change }] of tooMuch) {
      const extra = { ...entry().extra, decimals }
      it(`${title}: too dear, and nothing is signed`, () =>
        refused({ accepts: [entry({ ...change, extra })] }, TOO_DEAR))
    }

    const unclear: readonly [string, Change][] = [
      ['dollars', { amount: '0.02' }],
      ['dollars with a sign', { amount: '$0.02' }],
      ['a number', { amount: 20_000 }],
      ['an exponent', { amount: '2e4' }],
      ['hexadecimal', { amount: '0x4e20' }],
      ['two amounts', { maxAmountRequired: '900000' }],
      ['less than nothing', { amount: '-20000' }],
    ]
    for (const [title, change] of unclear) {
      it(`${title}: not an amount`, () => refused({ accepts: [entry(change)] }, BAD_TERMS))
    }
  })
})
