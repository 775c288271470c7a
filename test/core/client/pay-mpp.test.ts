import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { getAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createPaymentHeader, createSellerPayment } from '../../../core/client/pay.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { encodeRequest } from '../../../core/payments/mpp-challenge.ts'
import { MppChallenges } from '../../../core/payments/receiving/mpp-challenges.ts'
import { transferIn } from '../../../core/payments/receiving/payment.ts'
import { singleKey } from '../../../core/secret-keys/purpose-keys.ts'

const challenges = new MppChallenges(singleKey(randomBytes(32)), () => 'http://hub.test:8402')
const account = privateKeyToAccount(generatePrivateKey())
const payTo = '0x00000000000000000000000000000000000000aa'
const terms = {
  scheme: 'exact',
  network: USDC_BASE.network,
  amount: '3000',
  asset: USDC_BASE.address,
  payTo,
  maxTimeoutSeconds: 60,
  extra: {},
}
const limit = { host: 'hub.test', maxAmount: 3_000n, lifetimeSeconds: 360n }

describe('the payment of an MPP challenge', () => {
  const pay = (header: string, changed: object = {}) =>
    createPaymentHeader(
      async () => account,
      { headers: { 'www-authenticate': header }, bytes: Buffer.from('{}') },
      { ...limit, ...changed },
      'mpp',
    )
  const reasonOf = (paying: Promise<unknown>) =>
    paying.then(
      () => undefined,
      (error: { reason?: string }) => error.reason,
    )
  /** A challenge for other terms, which this hub did not issue. */
  const forged = (request: object) =>
    challenges.issue(terms).replace(/request="[^"]*"/, `request="${encodeRequest(request)}"`)

  it('is a transfer of its amount to its payee, which the hub accepts', async () => {
    const paid = await pay(challenges.issue(terms))
    const { scheme, from, to, value } = transferIn(challenges.read(paid!['authorization']!))
    expect({ scheme, from, to, value }).to.deep.equal({
      scheme: 'exact',
      from: account.address,
      to: getAddress(payTo),
      value: 3_000n,
    })
  })
  it('is sent in the header that the challenge names', async () => {
    expect(await pay(challenges.issue(terms, true))).to.have.keys('payment-authorization')
  })
  it('is not signed for another host, token or chain, itself, or above the maximum', async () => {
    const request = {
      amount: '3000',
      currency: USDC_BASE.address,
      recipient: payTo,
      methodDetails: { chainId: USDC_BASE.chainId },
    }
    expect(await reasonOf(pay(forged(request)))).to.equal(undefined)
    for (const [changed, reason] of [
      [{ amount: '3001' }, 'above_max'],
      [{ amount: '0' }, 'amount'],
      [{ amount: '3000.5' }, 'amount'],
      [{ recipient: USDC_BASE.address }, 'pay_to'],
      [{ currency: payTo }, 'asset'],
      [{ recipient: account.address }, 'own_wallet'],
      [{ methodDetails: { chainId: 1 } }, 'network'],
      [{ methodDetails: { chainId: 8_453, credentialTypes: ['hash'] } }, 'scheme'],
      [{ methodDetails: { chainId: 8_453, splits: [{}] } }, 'scheme'],
    ] as const) {
      expect(await reasonOf(pay(forged({ ...request, ...changed }))), reason).to.equal(reason)
    }
    const other = pay(challenges.issue(terms), { host: 'other.test' })
    expect(await reasonOf(other)).to.equal('resource')
  })
  it('is signed beside other schemes and challenges, whatever their order', async () => {
    const issued = challenges.issue(terms)
    const other = 'Payment id="a", realm="hub.test", method="tempo", intent="charge", request="e30"'
    for (const header of [
      `Bearer realm="a, Payment b", ${issued}`,
      `${other}, ${issued}`,
      `${issued}, ${other}`,
      issued.replaceAll('", ', '" , ').replace('Payment', 'payment'),
    ]) {
      const paid = await pay(header)
      expect(transferIn(challenges.read(paid!['authorization']!)).value, header).to.equal(3_000n)
    }
  })
  it('is never sent in a header that would change the request', async () => {
    for (const name of ['Host', 'Cookie', 'Content-Length', 'X-Forwarded-For']) {
      expect(await pay(`${challenges.issue(terms)}, header="${name}"`), name).to.equal(undefined)
    }
  })
  it('is not signed when the challenge expires too soon', async () => {
    const late = challenges.issue(terms).replace(/expires="[^"]*"/, (text) => {
      return text.replace(/"(.*)"/, `"${new Date(Date.now() + 5_000).toISOString()}"`)
    })
    expect(await reasonOf(pay(late))).to.equal('timeout')
  })
  it('pays a seller that offers it alone, and any other fails with the reason', async () => {
    const payDirectly = (headers: Record<string, string>) =>
      createSellerPayment(account, { headers, bytes: Buffer.from('{}') }, limit)
    const paid = await payDirectly({ 'www-authenticate': challenges.issue(terms) })
    expect(transferIn(challenges.read(paid.header['authorization']!)).value).to.equal(3_000n)
    const accepts = [{ ...terms, scheme: 'upto' }]
    const offer = { x402Version: 2, resource: { url: 'http://hub.test:8402/' }, accepts }
    const metered = Buffer.from(JSON.stringify(offer)).toString('base64')
    expect(await reasonOf(payDirectly({ 'payment-required': metered }))).to.equal('scheme')
    expect(await reasonOf(payDirectly({}))).to.equal('no_offer')
  })
  it('is undefined without such a challenge', async () => {
    expect(await pay('Bearer realm="hub.test"')).to.equal(undefined)
    expect(await pay('Payment id="short", method="tempo"')).to.equal(undefined)
  })
})
