import { expect } from 'chai'
import { Fault } from '../../core/errors.ts'
import { RateLimits, type RateState } from '../../core/usage/rate-limit.ts'

/** Asks `count` times at once; who got through, and who was refused. */
async function ask(count: number, one: () => Promise<RateState>) {
  const outcomes = await Promise.allSettled(Array.from({ length: count }, one))
  return {
    passed: outcomes.flatMap((o) => (o.status === 'fulfilled' ? [o.value] : [])),
    refused: outcomes.flatMap((o) => (o.status === 'rejected' ? [o.reason as Fault] : [])),
  }
}

describe('rate limits', () => {
  it('let exactly 100 of 150 requests through that a free key makes at once', async () => {
    const limits = new RateLimits()
    const { passed, refused } = await ask(150, () => limits.key('key_a', 'free'))
    expect([passed.length, refused.length]).to.deep.equal([100, 50])
    for (const fault of refused) {
      expect(fault).to.be.instanceOf(Fault).and.include({ code: 'rate_limited', status: 429 })
    }
  })

  it('let exactly 1,000 through once the key has credits', async () => {
    const limits = new RateLimits()
    const { passed } = await ask(1_100, () => limits.key('key_a', 'paid'))
    expect(passed).to.have.length(1_000)
  })

  it('count each key for itself', async () => {
    const limits = new RateLimits()
    await ask(150, () => limits.key('key_a', 'free'))
    const { passed } = await ask(100, () => limits.key('key_b', 'free'))
    expect(passed).to.have.length(100)
  })

  it('keep addresses without a key apart from keys and from registrations', async () => {
    const limits = new RateLimits()
    expect((await ask(310, () => limits.address('10.0.0.1'))).passed).to.have.length(300)
    expect((await ask(110, () => limits.registration('10.0.0.1'))).passed).to.have.length(100)
    expect((await ask(1, () => limits.key('10.0.0.1', 'free'))).passed).to.have.length(1)
  })

  it('count a network as one: an IPv4 /24, an IPv6 /64', async () => {
    const limits = new RateLimits()
    await ask(100, () => limits.registration('10.0.0.1'))
    expect((await ask(1, () => limits.registration('10.0.0.99'))).passed).to.have.length(0)
    expect((await ask(1, () => limits.registration('10.0.1.1'))).passed).to.have.length(1)
    await ask(100, () => limits.registration('2001:db8:1:2::7'))
    const near = await ask(1, () => limits.registration('2001:db8:1:2:aaaa::1'))
    expect(near.passed).to.have.length(0)
    const far = await ask(1, () => limits.registration('2001:db8:1:3::7'))
    expect(far.passed).to.have.length(1)
  })

  it('say in headers what is left and when it starts anew', async () => {
    const limits = new RateLimits()
    const { passed } = await ask(3, () => limits.key('key_a', 'free'))
    const { headers } = passed.at(-1)!
    expect(headers).to.include({
      'RateLimit-Policy': '"free";q=100;w=60',
      RateLimit: '"free";r=97;t=60',
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '97',
    })
    expect(Number(headers['X-RateLimit-Reset'])).to.be.within(1, 60)
  })

  it('tell the refused when to come back', async () => {
    const limits = new RateLimits()
    const { refused } = await ask(101, () => limits.key('key_a', 'free'))
    const { headers } = refused[0]!
    expect(headers).to.include({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Limit': '100' })
    expect(headers['Retry-After']).to.equal(headers['X-RateLimit-Reset'])
    expect(Number(headers['Retry-After'])).to.be.within(1, 60)
  })
})
