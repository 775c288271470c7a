import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { authorizationOf } from '../../support/authorization.ts'
import { BAD_TERMS, expectations, SHOP_URL, TOO_EXPENSIVE } from './expectations.ts'
import { useAttackFixture } from './fixture.ts'
import { type EntryChange, entry, entryV1, PRICE, THIEF } from './sellers.ts'

/** Maximum that the hub pays for one call. */
const CAP = usd('1')
const FAKE_TOKEN = '0x600d000000000000000000000000000000900d00'
const MAINNET_USDC = '0xA0b86991c6218b36c1D19D4a2e9Eb0cE3606eB48'

/** Attack categories of x402 in the terms of an offer. */
describe('attacks in the terms of an offer fail', () => {
  const fixture = useAttackFixture({ hosts: ['shop.test'] })
  const { refused, bought } = expectations(fixture)

  describe('accepts_ordering: the cheapest valid entry', () => {
    const first: readonly [string, EntryChange][] = [
      ['a more expensive one', { amount: '990000' }],
      ['one with 18 decimals', { amount: '20000000000000000' }],
      ['one for another payee, one unit more', { amount: String(PRICE + 1n), payTo: THIEF }],
      ['a cheaper one on another network', { amount: '1', network: 'eip155:1' }],
      ['a cheaper one with another token', { amount: '1', asset: FAKE_TOKEN }],
    ]
    for (const [title, change] of first) {
      it(`is paid although ${title} comes first`, () =>
        bought({ accepts: [entry(change), entry()] }))
    }
  })

  describe('asset_swap (A091): the hub pays only with USDC', () => {
    const swaps: readonly [string, EntryChange][] = [
      ['with another token', { asset: FAKE_TOKEN, amount: '1' }],
      ['with USDC given by name only', { asset: 'USDC' }],
      ['with a forged EIP-712 name', { extra: { name: 'Gold', version: '2' } }],
      ['with a forged EIP-712 version', { extra: { name: 'USD Coin', version: '1' } }],
    ]
    for (const [title, change] of swaps) {
      it(`not ${title}`, () =>
        refused(
          { accepts: [entry(change)], resource: { url: SHOP_URL, description: 'A fee of $0.01.' } },
          BAD_TERMS,
        ))
    }
  })

  describe('authorization_lifetime: a signature is valid for a minute', () => {
    it('A088 not for the ten years that a seller demands', () =>
      refused({ accepts: [entry({ maxTimeoutSeconds: 315_360_000 })] }, BAD_TERMS))

    it('not for a week described as 15 minutes', () => {
      const resource = { url: SHOP_URL, description: 'The usual window of 15 minutes.' }
      return refused({ accepts: [entry({ maxTimeoutSeconds: 604_800 })], resource }, BAD_TERMS)
    })

    it('not for the day that the offer allows', async () => {
      await bought({ accepts: [entry({ maxTimeoutSeconds: 86_400 })] })
      const [payment] = fixture().sellers.payments
      const now = BigInt(fixture().clock.now().getTime()) / 1_000n
      expect(BigInt(authorizationOf(payment!.payload).validBefore) <= now + 60n).to.equal(true)
    })

    it('so an unused one becomes worthless and its hold is released', async () => {
      const ada = await fixture().createAgent()
      const accepts = [entry({ maxTimeoutSeconds: 86_400 })]
      fixture().sellers.serve('shop.test', { accepts, paid: ({ respond }) => respond(500) })
      expect(await fixture().buy(ada, SHOP_URL)).to.have.property('status', 502)
      await fixture().advance(91)
      const [payment] = fixture().sellers.payments
      expect(await fixture().sellers.settle(payment!)).to.have.property('success', false)
      await fixture().resolveAll()
      await fixture().expectMoney(ada, { credits: usd('1'), held: 0n, signed: 1, paid: 0n })
    })
  })

  describe('price_bait: the offer is the price and the caller sets the maximum', () => {
    const bait = { resource: { url: SHOP_URL, description: 'Only $0.003 per image!' } }

    it('A087 an offer above the caller’s maximum is not signed', async () => {
      const accepts = [entry({ amount: '990000' })]
      const headers = { 'x-max-price': '10000' }
      const { body } = await refused({ accepts, ...bait }, TOO_EXPENSIVE, { headers })
      expect(body).to.include({ price_microdollars: 990_000, max_microdollars: 10_000 })
    })

    it('one unit above the maximum is refused, the maximum itself is paid', async () => {
      await refused(bait, TOO_EXPENSIVE, { headers: { 'x-max-price': String(PRICE - 1n) } })
      fixture().sellers.clear()
      await bought(bait, { 'x-max-price': String(PRICE) })
    })

    it('a seller that raises its price after the signature gets no second one', async () => {
      const ada = await fixture().createAgent()
      const raised = entry({ amount: '990000' })
      const offer = Buffer.from(JSON.stringify({ x402Version: 2, accepts: [raised] }))
      fixture().sellers.serve('shop.test', {
        paid: ({ respond }) => respond(402, '', { 'payment-required': offer.toString('base64') }),
      })
      const { status, body } = await fixture().buy(ada, SHOP_URL)
      expect([status, body['code']]).to.deep.equal([502, 'upstream_payment_rejected'])
      expect(fixture().sellers.payments).to.have.length(1)
      await fixture().expectMoney(ada, {
        credits: usd('1') - PRICE,
        held: PRICE,
        signed: 1,
        paid: 0n,
      })
    })
  })

  describe('rail_switch (A091): the hub makes only exact payments on Base', () => {
    const rails: readonly [string, EntryChange][] = [
      ['Ethereum', { network: 'eip155:1', asset: MAINNET_USDC }],
      ['a test network of Base', { network: 'eip155:84532' }],
      ['Solana', { network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', asset: 'EPjFWdd5Aufq' }],
      ['Base by its version 1 name', { network: 'base' }],
      ['another scheme', { scheme: 'upto' }],
      ['a transfer by Permit2', { extra: { ...entry().extra, assetTransferMethod: 'permit2' } }],
    ]
    for (const [title, change] of rails) {
      it(`not on ${title}`, () => refused({ accepts: [entry(change)] }, BAD_TERMS))
    }

    it('not on another chain named as in version 1', () =>
      refused((_, response) => {
        const body = { x402Version: 1, accepts: [entryV1({ network: 'ethereum' })] }
        response.writeHead(402).end(JSON.stringify(body))
      }, BAD_TERMS))
  })

  describe('recipient_redirect: the hub never pays a platform wallet', () => {
    for (const name of ['treasury', 'spend', 'gas'] as const) {
      it(`not its ${name} wallet`, () => {
        const { address } = fixture().hub.sandbox!.wallets[name].account
        return refused({ accepts: [entry({ payTo: address.toLowerCase() })] }, BAD_TERMS)
      })
    }
  })

  describe('unit_confusion: amounts are whole atomic units of USDC', () => {
    const tooMuch: readonly [string, EntryChange][] = [
      ['$50 with false decimals', { amount: '50000000', decimals: 18 }],
      ['18 decimals', { amount: '20000000000000000' }],
      ['one unit above the cap', { amount: String(CAP + 1n) }],
      ['a 78-digit amount', { amount: '9'.repeat(78) }],
    ]
    for (const [title, { decimals, ...change }] of tooMuch) {
      const extra = { ...entry().extra, decimals }
      it(`refuses ${title} as too expensive and signs nothing`, () =>
        refused({ accepts: [entry({ ...change, extra })] }, TOO_EXPENSIVE))
    }

    const unclear: readonly [string, EntryChange][] = [
      ['dollars', { amount: '0.02' }],
      ['dollars with a sign', { amount: '$0.02' }],
      ['a number', { amount: 20_000 }],
      ['an exponent', { amount: '2e4' }],
      ['hexadecimal', { amount: '0x4e20' }],
      ['two amounts', { maxAmountRequired: '900000' }],
      ['a negative amount', { amount: '-20000' }],
    ]
    for (const [title, change] of unclear) {
      it(`refuses ${title} as malformed`, () => refused({ accepts: [entry(change)] }, BAD_TERMS))
    }
  })
})
