import { randomBytes } from 'node:crypto'
import {
  createSIWxMessage,
  createSIWxPayload,
  encodeSIWxHeader,
  type SIWxPayload,
} from '@x402/extensions/sign-in-with-x'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { type Clock, systemClock } from '../../../../core/clock.ts'
import {
  messageOf,
  SignInChallenges,
} from '../../../../core/payments/receiving/sign-in-challenges.ts'
import { singleKey } from '../../../../core/secret-keys/purpose-keys.ts'

const NETWORK = 'eip155:8453'

describe('the message of a challenge', () => {
  it('is the text that the package signs, for any URL and maximum', async () => {
    const challenges = new SignInChallenges(singleKey(randomBytes(32)), NETWORK)
    const url = fc.webUrl({ withQueryParameters: true, validSchemes: ['http', 'https'] })
    const maximum = fc.bigInt({ min: 0n, max: 999_999_999_999n })
    const property = fc.asyncProperty(url, maximum, async (text, amount) => {
      const { href } = new URL(text)
      const { info } = await challenges.issue({ url: href, digest: randomBytes(32) }, amount)
      const { address } = privateKeyToAccount(generatePrivateKey())
      const chain = { chainId: NETWORK, type: 'eip191' } as const
      const payload: SIWxPayload = { ...info, ...chain, address, signature: '0x' }
      expect(messageOf(payload)).to.equal(createSIWxMessage({ ...info, ...chain }, address))
    })
    await fc.assert(property, { numRuns: 100 })
  })
})

describe('a challenge on a machine whose clock is wrong', () => {
  for (const days of [-2, 2]) {
    it(`is valid by the clock of the database, which is ${days} days away`, async () => {
      let seconds = 0
      const clock: Clock = {
        now: () => new Date(systemClock.now().getTime() + days * 86_400_000 + seconds * 1_000),
      }
      const challenges = new SignInChallenges(singleKey(randomBytes(32)), NETWORK, clock)
      const account = privateKeyToAccount(generatePrivateKey())
      const request = { url: 'https://hub.example/proxy/echo/say', digest: randomBytes(32) }
      const sign = async () => {
        const { info, supportedChains } = await challenges.issue(request, 1n)
        const challenge = { ...info, ...supportedChains[0]! }
        return encodeSIWxHeader(await createSIWxPayload(challenge, account, request.url))
      }
      const verified = await challenges.verify(await sign(), request)
      expect(verified).to.have.property('wallet', account.address.toLowerCase())
      const late = await sign()
      seconds = 301
      expect(await challenges.verify(late, request)).to.equal('invalid_siwx_issued_at_too_old')
    })
  }
})
