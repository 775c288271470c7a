import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createMppHeader } from '../../../core/client/pay-mpp.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { encodeRequest, MppChallenges } from '../../../core/payments/receiving/mpp-challenges.ts'
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
    createMppHeader(account, { headers: { 'www-authenticate': header } }, { ...limit, ...changed })
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
      to: payTo,
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
      [{ amount: '0' }, 'malformed_offer'],
      [{ currency: payTo }, 'asset'],
      [{ recipient: account.address }, 'own_wallet'],
      [{ methodDetails: { chainId: 1 } }, 'network'],
      [{ methodDetails: { chainId: 8_453, credentialTypes: ['hash'] } }, 'scheme'],
    ] as const) {
      expect(await reasonOf(pay(forged({ ...request, ...changed }))), reason).to.equal(reason)
    }
    const other = pay(challenges.issue(terms), { host: 'other.test' })
    expect(await reasonOf(other)).to.equal('resource')
  })
  it('is undefined without such a challenge', async () => {
    expect(await pay('Bearer realm="hub.test"')).to.equal(undefined)
    expect(await pay('Payment id="short", method="tempo"')).to.equal(undefined)
  })
})
