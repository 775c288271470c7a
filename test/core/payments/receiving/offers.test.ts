import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { x402ResourceServer } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { expect } from 'chai'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../../../core/payments/chain/asset.ts'
import {
  BadPayment,
  paymentKey,
  validBeforeOf,
} from '../../../../core/payments/receiving/offers.ts'
import { fund } from '../../../../server/sandbox/wallets.ts'
import { authorizationOf } from '../../../support/authorization.ts'
import { authorize, header, NETWORK, type Stack, sign, startStack } from '../stack.ts'

const RESOURCE = { url: 'https://hub.test/echo', description: 'Echo', mimeType: 'application/json' }
const SALE = { amount: 3_000n, maxTimeoutSeconds: 60, resource: RESOURCE }
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

describe('x402 offers', () => {
  let stack: Stack
  before(async () => {
    stack = await startStack()
  })
  after(() => stack.stop())

  const prepare = async (terms: Partial<Parameters<typeof authorize>[1]> = {}) => {
    const { offers, wallets, payTo } = stack
    const { required } = offers.offer(SALE)
    const signed = await authorize(wallets.agent.account, { to: payTo, value: 3_000n, ...terms })
    const payment = offers.read(header(required, signed))
    const requirement = offers.match(required.accepts, payment)
    if (requirement === undefined) throw new Error('does not match')
    return { payment, requirement }
  }

  describe('the offer', () => {
    it('equals what the library makes of a dollar price', async () => {
      const server = new x402ResourceServer(stack.facilitator)
      await server.register(NETWORK, new ExactEvmScheme()).initialize()
      const theirs = await server.buildPaymentRequirements({
        scheme: 'exact',
        network: NETWORK,
        payTo: stack.payTo,
        price: '$0.003',
        maxTimeoutSeconds: 60,
      })
      expect([stack.offers.requirements(SALE)]).to.deep.equal(theirs)
    })
    it('is the same in the header and for the body', () => {
      const { header, required } = stack.offers.offer({ ...SALE, error: 'payment_required' })
      expect(decodePaymentRequiredHeader(header)).to.deep.equal(required)
      expect(required).to.deep.include({ x402Version: 2, resource: RESOURCE })
    })
    it('keeps every digit of a large amount', () => {
      const amount = 9_007_199_254_740_993n
      expect(stack.offers.requirements({ ...SALE, amount }).amount).to.equal('9007199254740993')
    })
    it('refuses amounts and times that are not positive', () => {
      const { offers } = stack
      expect(() => offers.requirements({ ...SALE, amount: 0n })).to.throw(RangeError)
      expect(() => offers.requirements({ ...SALE, maxTimeoutSeconds: 0 })).to.throw(RangeError)
    })
  })

  describe('reading a payment', () => {
    const valid = async () => sign(stack.wallets.agent.account, stack.offers.offer(SALE).required)
    const refuses = (value: string | string[], reason: string) => {
      expect(() => stack.offers.read(value))
        .to.throw(BadPayment)
        .with.property('reason', reason)
    }

    it('accepts what the client library sends', async () => {
      const payment = stack.offers.read(await valid())
      expect(authorizationOf(payment.payload).value).to.equal('3000')
    })
    it('refuses two headers', async () => {
      const value = await valid()
      refuses([value, value], 'duplicate_header')
      refuses(`${value}, ${value}`, 'duplicate_header')
    })
    it('refuses more than 16 KiB', () => refuses('A'.repeat(16_385), 'too_large'))
    it('refuses invalid base64', () => {
      for (const value of ['', '{}', 'a b', 'äö', '====']) refuses(value, 'malformed_base64')
    })
    it('refuses invalid JSON and prototype-polluting names', () => {
      refuses(Buffer.from('hello').toString('base64'), 'malformed_json')
      refuses(Buffer.from('{"__proto__":{"x402Version":2}}').toString('base64'), 'malformed_json')
      refuses(encode({ payload: { constructor: 1 } }), 'malformed_json')
    })
    it('refuses other shapes', () => {
      for (const value of [null, 1, 'x', [], {}, { x402Version: 2 }, { x402Version: 1 }])
        refuses(encode(value), 'malformed_payload')
    })
    it('refuses every malformed field', async () => {
      const text = Buffer.from(await valid(), 'base64').toString()
      const bad: [path: string, value: unknown][] = [
        ['from', '0x12'],
        ['value', '-1'],
        ['value', '1e3'],
        ['value', '0x10'],
        ['value', 3000],
        ['validBefore', '99999999999.5'],
        ['nonce', '0xabc'],
      ]
      for (const [path, value] of bad) {
        const payment = JSON.parse(text)
        payment.payload.authorization[path] = value
        refuses(encode(payment), 'malformed_payload')
      }
    })
    it('refuses one-element lists, which stringify like their element', async () => {
      const text = Buffer.from(await valid(), 'base64').toString()
      const listed = (part: Record<string, unknown>, name: string): void => {
        part[name] = [part[name]]
      }
      for (const name of ['network', 'asset', 'payTo']) {
        const payment = JSON.parse(text)
        listed(payment.accepted, name)
        refuses(encode(payment), 'malformed_payload')
      }
      for (const name of ['from', 'to', 'nonce']) {
        const payment = JSON.parse(text)
        listed(payment.payload.authorization, name)
        refuses(encode(payment), 'malformed_payload')
      }
      const payment = JSON.parse(text)
      listed(payment.payload, 'signature')
      refuses(encode(payment), 'malformed_payload')
    })
    it('refuses additional members, by which a facilitator might pay', async () => {
      const text = Buffer.from(await valid(), 'base64').toString()
      const beside = JSON.parse(text)
      beside.payload.permit2Authorization = { from: stack.payTo }
      refuses(encode(beside), 'malformed_payload')
      const within = JSON.parse(text)
      within.payload.authorization.deadline = '1'
      refuses(encode(within), 'malformed_payload')
    })
  })

  it('identifies a payment by network, asset, payer and nonce, in lower case', async () => {
    const { payment } = await prepare({ nonce: `0x${'AB'.repeat(32)}` })
    expect(paymentKey(payment)).to.deep.equal({
      network: 'eip155:8453',
      asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
      payer: stack.wallets.agent.account.address.toLowerCase(),
      nonce: `0x${'ab'.repeat(32)}`,
    })
  })
  it('reads the expiry of a payment', async () => {
    const { payment } = await prepare()
    expect(validBeforeOf(payment).getTime() / 1_000).to.equal(
      Number(authorizationOf(payment.payload).validBefore),
    )
    authorizationOf(payment.payload).validBefore = String(2n ** 256n - 1n)
    expect(validBeforeOf(payment).toISOString()).to.equal('9999-12-31T23:59:59.000Z')
  })
  it('matches only what was offered, unchanged', async () => {
    const { offers } = stack
    const { payment, requirement } = await prepare()
    expect(offers.match(requirement, payment)).to.deep.equal(requirement)
    expect(offers.match(offers.requirements({ ...SALE, amount: 4_000n }), payment)).to.equal(
      undefined,
    )
    payment.accepted.amount = '1'
    expect(offers.match(requirement, payment)).to.equal(undefined)
  })
  it('matches terms whose addresses are in another letter case, and no other address', async () => {
    const { offers } = stack
    const { payment, requirement } = await prepare()
    const { accepted } = payment
    const matchesWith = (terms: Partial<typeof accepted>) =>
      offers.match(requirement, { ...payment, accepted: { ...accepted, ...terms } })
    const asset = accepted.asset.toLowerCase() as Hex
    const payTo = `0x${accepted.payTo.slice(2).toUpperCase()}` as const
    expect(matchesWith({ asset, payTo })).to.equal(requirement)
    expect(matchesWith({ asset: payTo, payTo })).to.equal(undefined)
    expect(matchesWith({ asset, payTo: asset })).to.equal(undefined)
  })

  describe('verifying and settling', () => {
    const refused = async (payment: Parameters<Stack['offers']['verify']>, reason: string) => {
      expect(await stack.offers.verify(...payment)).to.include({ valid: false, reason })
      const settled = await stack.offers.settle(payment[0], payment[1])
      expect(settled).to.include({ outcome: 'failed', reason })
      expect(decodePaymentResponseHeader(settled.responseHeader).success).to.equal(false)
    }

    it('transfers exactly the price', async () => {
      const { offers, chain, payTo, wallets } = stack
      const { payment, requirement } = await prepare()
      const before = await chain.balanceOf(payTo)
      const payer = wallets.agent.account.address.toLowerCase()
      expect(await offers.verify(payment, requirement)).to.deep.equal({ valid: true, payer })
      const settled = await offers.settle(payment, requirement)
      expect(settled).to.include({ outcome: 'settled', payer, amount: 3_000n })
      expect(settled.tx).to.match(/^0x[0-9a-f]{64}$/)
      expect((await chain.balanceOf(payTo)) - before).to.equal(3_000n)
      expect(decodePaymentResponseHeader(settled.responseHeader)).to.deep.equal({
        success: true,
        transaction: settled.tx,
        network: NETWORK,
        payer: wallets.agent.account.address,
        amount: '3000',
      })
    })
    it('refuses another amount', async () => {
      const { payment, requirement } = await prepare({ value: 2_999n })
      await refused(
        [payment, requirement],
        'invalid_exact_evm_payload_authorization_value_mismatch',
      )
    })
    it('refuses another recipient', async () => {
      const { payment, requirement } = await prepare({ to: stack.wallets.seller.account.address })
      await refused([payment, requirement], 'invalid_exact_evm_recipient_mismatch')
    })
    it('refuses a payment that has expired or would before the work is done', async () => {
      const reason = 'invalid_exact_evm_payload_authorization_valid_before'
      const expired = await prepare({ seconds: -1 })
      await refused([expired.payment, expired.requirement], reason)
      const { payment, requirement } = await prepare({ seconds: 20 })
      expect(await stack.offers.verify(payment, requirement, 30)).to.include({ reason })
      expect(await stack.offers.verify(payment, requirement, 10)).to.include({ valid: true })
    })
    it('refuses a forged signature', async () => {
      const { payment, requirement } = await prepare()
      authorizationOf(payment.payload).nonce = `0x${'1'.repeat(64)}`
      await refused([payment, requirement], 'invalid_exact_evm_signature')
    })
    it('refuses a payer with insufficient USDC', async () => {
      const { offers } = stack
      const poor = privateKeyToAccount(`0x${'5'.repeat(64)}`)
      await fund(stack.rpcUrl, poor.address, { usdc: 2_999n })
      const { required } = offers.offer(SALE)
      const payment = offers.read(await sign(poor, required))
      await refused([payment, offers.requirements(SALE)], 'invalid_exact_evm_insufficient_balance')
    })
    it('refuses to verify a settled payment; settling it again is up to the chain', async () => {
      const { offers } = stack
      const { payment, requirement } = await prepare()
      const first = await offers.settle(payment, requirement)
      expect(first.outcome).to.equal('settled')
      const reason = 'invalid_exact_evm_nonce_already_used'
      expect(await offers.verify(payment, requirement)).to.include({ valid: false, reason })
      const again = await offers.settle(payment, requirement)
      expect(again).to.include({ outcome: 'pending', reason })
      const { from, nonce } = authorizationOf(payment.payload)
      expect(await stack.chain.authorizationOutcome(from, nonce, 0n)).to.include({
        outcome: 'used',
        tx: first.tx,
      })
    })
    it('verifies only the terms of an upfront sale and settles at once', async () => {
      const { offers, wallets } = stack
      const { required } = offers.offer({ ...SALE, upfront: true })
      const [requirement] = required.accepts
      if (requirement === undefined) throw new Error('nothing is offered')
      expect(requirement.extra).to.include({ paymentFlow: 'upfront' })
      const payment = offers.read(await sign(wallets.agent.account, required))
      expect(offers.match(requirement, payment)).to.deep.equal(requirement)
      expect(await offers.verify(payment, requirement)).to.include({ valid: true })
      expect(await offers.settle(payment, requirement)).to.include({ outcome: 'settled' })
    })
  })
})
