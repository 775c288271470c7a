import { expect } from 'chai'
import { Fault } from '../../../core/errors.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import { createLog } from '../../../core/log.ts'
import { FallbackWindows } from '../../../core/usage/open-windows.ts'
import { RateLimits, type RateState } from '../../../core/usage/rate-limit.ts'
import { MemoryWindows, type Windows } from '../../../core/usage/windows.ts'
import { DatabaseWindows, pruneWindows } from '../../../core/usage/windows-database.ts'
import { RedisWindows } from '../../../core/usage/windows-redis.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { type RedisServer, redisProgram, startRedis } from '../../support/redis.ts'
import { skip } from '../../support/skip.ts'

let callers = 0n
const caller = (more: Partial<Caller> = {}): Caller => {
  const id = ++callers
  const code = `liabilities:agents:key_${String(id).padStart(16, '0')}:credits` as const
  return {
    principal: `prn_${id}`,
    keyId: `key_${id}`,
    wallet: null,
    credits: { id, code, asset: 'USDC', shard: 0 },
    ratePerMinute: null,
    limits: [],
    seesMainKey: true,
    ...more,
  }
}

/** Sends `count` concurrent requests; returns the passed and the refused ones. */
async function ask(count: number, one: (i: number) => Promise<RateState>) {
  const outcomes = await Promise.allSettled(Array.from({ length: count }, (_, i) => one(i)))
  return {
    passed: outcomes.flatMap((o) => (o.status === 'fulfilled' ? [o.value] : [])),
    refused: outcomes.flatMap((o) => (o.status === 'rejected' ? [o.reason as Fault] : [])),
  }
}

describe('rate limits', () => {
  let limits: RateLimits
  beforeEach(() => {
    limits = new RateLimits(new MemoryWindows())
  })

  it('let exactly 100 of 150 requests through that a free key makes at once', async () => {
    const ada = caller()
    const { passed, refused } = await ask(150, () => limits.key(ada, 'free'))
    expect([passed.length, refused.length]).to.deep.equal([100, 50])
    for (const fault of refused) {
      expect(fault).to.be.instanceOf(Fault).and.include({ code: 'rate_limited', status: 429 })
    }
  })

  it('let exactly 1,000 through once the key has credits', async () => {
    const ada = caller()
    const { passed } = await ask(1_100, () => limits.key(ada, 'paid'))
    expect(passed).to.have.length(1_000)
  })

  it('A057 apply the current tier to earlier requests, and carry no debt', async () => {
    const ada = caller()
    expect((await ask(500, () => limits.key(ada, 'paid'))).passed).to.have.length(500)
    const { passed, refused } = await ask(1, () => limits.key(ada, 'free'))
    expect(passed).to.have.length(0)
    expect(refused[0]?.headers['X-RateLimit-Remaining']).to.equal('0')
    expect((await ask(600, () => limits.key(ada, 'paid'))).passed, 'paid again').to.have.length(499)
  })

  it('apply the custom rate of a key, whatever its tier', async () => {
    for (const [rate, tier] of [
      [30, 'paid'],
      [250, 'free'],
    ] as const) {
      const ada = caller({ ratePerMinute: rate })
      const { passed, refused } = await ask(300, () => limits.key(ada, tier))
      expect(passed).to.have.length(rate)
      expect(refused[0]?.headers['RateLimit-Policy']).to.equal(`"custom";q=${rate};w=60`)
    }
  })

  it('count each main key separately', async () => {
    const [ada, bob] = [caller(), caller()]
    await ask(150, () => limits.key(ada, 'free'))
    expect((await ask(100, () => limits.key(bob, 'free'))).passed).to.have.length(100)
  })

  it('count a main key and its sub-keys together', async () => {
    const mainKey = caller()
    const keys = [mainKey, ...[1, 2, 3].map(() => caller({ credits: mainKey.credits }))]
    const { passed } = await ask(160, (i) => limits.key(keys[i % 4]!, 'free'))
    expect(passed).to.have.length(100)
  })

  it('count addresses without a key separately from keys and registrations', async () => {
    expect((await ask(310, () => limits.address('10.0.0.1'))).passed).to.have.length(300)
    expect((await ask(110, () => limits.registration('10.0.0.1'))).passed).to.have.length(100)
    expect((await ask(1, () => limits.key(caller(), 'free'))).passed).to.have.length(1)
  })

  it('A049 count an IPv4 /24 or IPv6 /64 network as one', async () => {
    await ask(100, () => limits.registration('10.0.0.1'))
    expect((await ask(1, () => limits.registration('10.0.0.99'))).passed).to.have.length(0)
    expect((await ask(1, () => limits.registration('10.0.1.1'))).passed).to.have.length(1)
    await ask(100, () => limits.registration('2001:db8:1:2::7'))
    const near = await ask(1, () => limits.registration('2001:db8:1:2:aaaa::1'))
    expect(near.refused[0]).to.include({ code: 'registration_rate_limited', status: 429 })
    const far = await ask(1, () => limits.registration('2001:db8:1:3::7'))
    expect(far.passed).to.have.length(1)
  })

  it('A049 count an IPv6 /48 as sixteen of its networks', async () => {
    const from = (i: number) => limits.registration(`2001:db8:1:${i.toString(16)}::7`)
    const { passed, refused } = await ask(1_700, (i) => from(i % 200))
    expect([passed.length, refused.length]).to.deep.equal([1_600, 100])
    expect(refused[0]).to.include({ code: 'registration_rate_limited', status: 429 })
    expect((await ask(1, () => from(0x9999))).passed, 'a new network of it').to.have.length(0)
    const other = await ask(1, () => limits.registration('2001:db8:2::7'))
    expect(other.passed).to.have.length(1)
  })

  it('A049 remember a bounded number of networks, those used last', () => {
    const windows = new MemoryWindows(1_000)
    for (let i = 0; i < 5_000; i++) {
      windows.count(`network:${i}`, 60)
      windows.count('key:1', 60)
    }
    expect(windows.count('key:1', 60).count).to.equal(5_001)
    expect(windows.count('network:0', 60).count, 'dropped').to.equal(1)
  })

  it('send headers with the remaining requests and the time of the reset', async () => {
    const ada = caller()
    const { passed } = await ask(3, () => limits.key(ada, 'free'))
    const { headers } = passed.at(-1)!
    expect(headers).to.include({
      'RateLimit-Policy': '"free";q=100;w=60',
      RateLimit: '"free";r=97;t=60',
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '97',
    })
    expect(Number(headers['X-RateLimit-Reset'])).to.be.within(1, 60)
  })

  it('send Retry-After with a refusal', async () => {
    const ada = caller()
    const { refused } = await ask(101, () => limits.key(ada, 'free'))
    const { headers } = refused[0]!
    expect(headers).to.include({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Limit': '100' })
    expect(headers['Retry-After']).to.equal(headers['X-RateLimit-Reset'])
    expect(Number(headers['Retry-After'])).to.be.within(1, 60)
  })
})

/** Each store twice, as two processes have it. */
const describeStore = (name: string, open: () => Promise<Windows>, close: () => Promise<void>) =>
  describe(`rate limits of two processes that count in ${name}`, () => {
    let both: readonly Windows[]
    before(async () => {
      both = [await open(), await open()]
    })
    after(async () => {
      for (const windows of both ?? []) await windows.close()
      await close()
    })

    it('let exactly 100 of 150 through', async () => {
      const [one, two] = both.map((windows) => new RateLimits(windows))
      const ada = caller()
      const { passed, refused } = await ask(150, (i) => (i % 2 ? one! : two!).key(ada, 'free'))
      expect([passed.length, refused.length]).to.deep.equal([100, 50])
      const left = passed.map(({ headers }) => Number(headers['X-RateLimit-Remaining']))
      expect(left.toSorted((a, b) => a - b)).to.deep.equal([...Array.from({ length: 100 }).keys()])
    })

    it('give each key its own window under concurrent requests', async () => {
      const many = Array.from({ length: 20 }, () => caller())
      const [one, two] = both.map((windows) => new RateLimits(windows))
      const { passed } = await ask(20 * 120, (i) =>
        (i % 3 ? one! : two!).key(many[i % 20]!, 'free'),
      )
      expect(passed).to.have.length(20 * 100)
    })

    it('reset when the window ends', async () => {
      const [one, two] = both as [Windows, Windows]
      const first = await one.count('short', 3)
      expect(first.count).to.equal(1)
      expect(first.msLeft).to.be.within(1, 3_000)
      expect((await two.count('short', 3)).count).to.equal(2)
      await eventually(async () => (await two.count('short', 3)).count === 1)
    })
  })

describe('rate limits in the database', () => {
  let database: FreshDatabase
  const ready = async () => {
    database ??= await freshDatabase()
    return new DatabaseWindows(database.pool)
  }
  it('delete finished windows and keep open ones', async () => {
    const windows = await ready()
    const count = async (key: string): Promise<number> => (await windows.count(key, 60)).count
    await count('over')
    await count('open')
    await database.admin.query(`UPDATE hub.rate_window SET ends_at = now() WHERE key = 'over'`)
    await pruneWindows(database.pool)
    const { rows } = await database.admin.query('SELECT key FROM hub.rate_window')
    expect(rows).to.deep.equal([{ key: 'open' }])
    expect([await count('over'), await count('open')]).to.deep.equal([1, 2])
  })

  describeStore('PostgreSQL', ready, () => database.drop())
})

describe('rate limits in Redis', function () {
  let redis: RedisServer | undefined
  const lines: string[] = []
  const log = createLog('warn', { write: (line) => lines.push(line) })
  before(function () {
    if (!redisProgram()) skip(this, "needs Debian's redis-server or valkey-server")
  })
  const open = async () => {
    redis ??= await startRedis()
    return RedisWindows.open(redis.url)
  }
  describeStore('Redis', open, async () => redis?.kill())

  it('A056 continue with per-process counts when the store is killed', async () => {
    const store = await startRedis()
    const both = await Promise.all(
      [0, 1].map(async () => new FallbackWindows(await RedisWindows.open(store.url), log)),
    )
    const [one, two] = both.map((windows) => new RateLimits(windows))
    const ada = caller()
    try {
      const before = await ask(60, (i) => (i % 2 ? one! : two!).key(ada, 'free'))
      expect(before.passed).to.have.length(60)
      await store.kill()
      for (const process of [one!, two!]) {
        const { passed, refused } = await ask(100, () => process.key(ada, 'free'))
        expect(passed, 'of each 100 less its own 30').to.have.length(70)
        for (const fault of refused) expect(fault).to.have.property('code', 'rate_limited')
      }
      expect(lines.join('')).to.include('counting per process')
    } finally {
      for (const windows of both) await windows.close()
      await store.kill()
    }
  })
})
