import { randomBytes } from 'node:crypto'
import { createSIWxMessage, type SIWxPayload } from '@x402/extensions/sign-in-with-x'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
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
