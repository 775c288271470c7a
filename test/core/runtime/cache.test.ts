import { expect } from 'chai'
import {
  cachedFor,
  LoadingCache,
  refreshedAfter,
  refreshedWhileUsed,
  singleFlight,
  ttlCache,
} from '../../../core/runtime/cache.ts'

/** Loader that counts its calls and returns when released. */
function slowLoader() {
  const pending: PromiseWithResolvers<number>[] = []
  const load = (): Promise<number> => {
    const next = Promise.withResolvers<number>()
    pending.push(next)
    return next.promise
  }
  return { load, pending }
}

describe('singleFlight', () => {
  it('shares one call among concurrent callers of a key, and repeats it afterwards', async () => {
    const { load, pending } = slowLoader()
    const shared = singleFlight(load)
    const [one, two, other] = [shared('a'), shared('a'), shared('b')]
    expect(pending).to.have.length(2)
    for (const [i, { resolve }] of pending.entries()) resolve(i)
    expect(await Promise.all([one, two, other])).to.deep.equal([0, 0, 1])
    void shared('a')
    expect(pending).to.have.length(3)
  })

  it('shares a failure, and does not cache it', async () => {
    let calls = 0
    const shared = singleFlight(async () => {
      calls += 1
      throw new Error('down')
    })
    const settled = await Promise.allSettled([shared('a'), shared('a')])
    expect([calls, ...settled.map(({ status }) => status)]).deep.equal([1, 'rejected', 'rejected'])
    await shared('a').catch(() => undefined)
    expect(calls).to.equal(2)
  })
})

describe('LoadingCache', () => {
  let now: number
  beforeEach(() => (now = 1))
  const options = { ttlMs: 1_000, max: 2, now: () => now }

  it('keeps a value for its TTL from the start of the load', async () => {
    const { load, pending } = slowLoader()
    const cache = new LoadingCache<string, number>(load, options)
    const loading = cache.load('a')
    now += 600
    pending[0]!.resolve(7)
    expect(await loading).to.equal(7)
    now += 399
    expect(cache.get('a')).to.equal(7)
    now += 2
    expect(cache.get('a')).to.equal(undefined)
  })

  it('caches neither failures nor undefined', async () => {
    const results = [Promise.reject(new Error('down')), Promise.resolve(undefined)]
    const cache = new LoadingCache<string, number | undefined>(() => results.shift()!, options)
    expect(await cache.load('a').catch((error: Error) => error.message)).to.equal('down')
    expect(await cache.load('a')).to.equal(undefined)
    expect(cache.get('a')).to.equal(undefined)
  })

  it('keeps the value of the load that started last', async () => {
    const { load, pending } = slowLoader()
    const cache = new LoadingCache<string, number>(load, options)
    const first = cache.load('a')
    now += 1
    const second = cache.refresh('a', load)
    pending[1]!.resolve(2)
    await second
    pending[0]!.resolve(1)
    expect(await first).to.equal(1)
    expect(cache.get('a')).to.equal(2)
  })

  it('drops the least recently used key beyond its maximum', async () => {
    const cache = new LoadingCache<string, string>(async (key) => key, options)
    for (const key of ['a', 'b']) await cache.load(key)
    expect(cache.get('a')).to.equal('a')
    await cache.load('c')
    expect(['a', 'b', 'c'].map((key) => cache.get(key))).to.deep.equal(['a', undefined, 'c'])
  })
})

describe('ttlCache', () => {
  it('returns a value until its TTL ends', () => {
    let now = 1
    const cache = ttlCache<bigint, string>({ ttlMs: 1_000, max: 10, now: () => now })
    cache.set(1n, 'paid')
    now += 999
    expect(cache.get(1n)).to.equal('paid')
    now += 2
    expect(cache.get(1n)).to.equal(undefined)
  })
})

describe('cachedFor', () => {
  it('shares and caches one result until its TTL ends, and retries after a failure', async () => {
    let [now, calls] = [1, 0]
    const load = async (): Promise<number> => {
      calls += 1
      if (calls === 1) throw new Error('down')
      return calls
    }
    const cached = cachedFor(30_000, load, () => now)
    expect(await cached().catch((error: Error) => error.message)).to.equal('down')
    expect(await Promise.all([cached(), cached()])).to.deep.equal([2, 2])
    now += 29_999
    expect(await cached()).to.equal(2)
    now += 2
    expect(await cached()).to.equal(3)
  })
})

describe('refreshedAfter', () => {
  it('returns an expired value while the next one loads, for at most another TTL', async () => {
    let now = 1
    const { load, pending } = slowLoader()
    const cached = refreshedAfter(30_000, load, () => now)
    const first = cached()
    pending[0]!.resolve(10)
    expect(await first).to.equal(10)
    now += 30_001
    expect(await Promise.all([cached(), cached()])).to.deep.equal([10, 10])
    expect(pending, 'one load for both').to.have.length(2)
    pending[1]!.reject(new Error('down'))
    expect(await cached(), 'after a failure').to.equal(10)
    await new Promise(setImmediate)
    expect(await cached()).to.equal(10)
    expect(pending, 'tried again').to.have.length(3)
    pending[2]!.resolve(30)
    await new Promise(setImmediate)
    expect(await cached()).to.equal(30)
    now += 60_001
    const late = cached()
    pending[3]!.resolve(40)
    expect(await late, 'after a pause').to.equal(40)
  })
})

describe('refreshedWhileUsed', () => {
  it('loads behind its callers while it is used, so that none waits', async () => {
    let [now, loads] = [1, 0]
    const sleeps: { ms: number; end: () => void }[] = []
    const wake = async () => {
      const { ms, end } = sleeps.shift()!
      now += ms
      end()
      await new Promise(setImmediate)
    }
    const sleep = (ms: number) => new Promise<void>((end) => sleeps.push({ ms, end }))
    const load = async (): Promise<number> => {
      loads += 1
      if (loads === 3) throw new Error('down')
      return loads
    }
    const cached = refreshedWhileUsed(60_000, load, { now: () => now, sleep })
    expect(await Promise.all([cached(), cached()])).to.deep.equal([1, 1])
    await wake()
    expect(now, 'loaded again once it is old, without a caller').to.equal(60_001)
    expect([loads, await cached()]).to.deep.equal([2, 2])
    await wake()
    expect([loads, sleeps.length], 'a failed load ends it').to.deep.equal([3, 0])
    expect(await cached(), 'until the next call').to.equal(2)
    await wake()
    expect([loads, await cached()]).to.deep.equal([4, 4])
    for (let minute = 0; minute < 14; minute++) await wake()
    expect(loads, 'kept for a quarter of an hour without calls').to.equal(18)
    await wake()
    expect([loads, sleeps.length], 'then no longer').to.deep.equal([18, 0])
    now += 120_001
    expect(await cached(), 'loaded by the next call').to.equal(19)
  })

  it('pauses for as long as a load took', async () => {
    let now = 1
    const sleeps: number[] = []
    const sleep = async (ms: number) => {
      sleeps.push(ms)
      if (sleeps.length > 2) await new Promise(() => {})
      now += ms
    }
    const load = async (): Promise<number> => (now += 90_000)
    await refreshedWhileUsed(60_000, load, { now: () => now, sleep })()
    await new Promise(setImmediate)
    expect(sleeps.slice(1)).to.deep.equal([90_000, 90_000])
  })
})
