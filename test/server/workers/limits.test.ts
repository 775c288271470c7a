import { expect } from 'chai'
import { sleep } from '../../../core/clock.ts'
import { usd } from '../../../core/money.ts'
import { eventually } from '../../support/eventually.ts'
import { type RedisServer, redisProgram, startRedis } from '../../support/redis.ts'
import { skip } from '../../support/skip.ts'
import { ProcessHub } from '../../support/workers.ts'
import { type Answer, send } from '../http.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const counts = (answers: readonly Answer[]): Readonly<Record<number, number>> => {
  const found: Record<number, number> = {}
  for (const { status } of answers) found[status] = (found[status] ?? 0) + 1
  return found
}
/**
 * Sends each request on its own connection, ten every few milliseconds, so that the kernel
 * distributes them over both processes.
 */
const atOnce = (count: number, one: (i: number) => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, i) => {
      await sleep(((i - (i % 10)) / 10) * 4)
      return one(i)
    }),
  )
const pidsOf = (answers: readonly Answer[]) =>
  new Set(answers.flatMap(({ json }) => (json['pid'] === undefined ? [] : [json['pid']])))

describe('limits over two processes', () => {
  let hub: ProcessHub
  before(async () => {
    hub = await ProcessHub.start({ HUB_WORKERS: '2' })
  })
  after(() => hub?.close())

  const whoAnswers = (key: string) =>
    send(hub.port, { path: '/proxy/slow/process', headers: bearer(key) })

  it('A055 let exactly 100 of 150 calls at once through on a key of the free tier', async () => {
    let processes = 0
    // One process may have taken all before the other one woke up: send as many again.
    for (let round = 0; round < 8 && processes < 2; round++) {
      const { apiKey, keyId } = await hub.agent()
      const answers = await atOnce(150, () => whoAnswers(apiKey))
      processes = pidsOf(answers).size
      expect(counts(answers)).to.deep.equal({ 200: 100, 429: 50 })
      for (const { status, headers, json } of answers) {
        expect(headers).to.have.property('ratelimit')
        if (status !== 429) continue
        expect(json).to.include({ code: 'rate_limited', charged_microdollars: 0 })
        expect(Number(headers['retry-after'])).to.be.within(1, 60)
      }
      expect(await hub.balance(keyId)).to.equal(0n)
    }
    expect(processes, 'processes that answered the same key').to.equal(2)
  })

  it('A051 a key that is revoked or rotated opens nothing, anywhere, a second later', async () => {
    const { apiKey } = await hub.agent()
    const keys = '/v1/keys'
    const making = { path: keys, headers: { ...bearer(apiKey), ...JSON_TYPE }, body: '{}' }
    const child = (await send(hub.port, making)).json as { key_id: string; api_key: string }
    const warm: Answer[] = []
    while (warm.length < 80 && pidsOf(warm).size < 2) {
      warm.push(...(await atOnce(20, () => whoAnswers(child.api_key))))
    }
    expect([counts(warm), pidsOf(warm).size]).to.deep.equal([{ 200: warm.length }, 2])
    const rotating = { ...making, path: `${keys}/${child.key_id}/rotate` }
    const { api_key: next } = (await send(hub.port, rotating)).json as { api_key: string }
    await sleep(1_000)
    expect(counts(await atOnce(10, () => whoAnswers(child.api_key)))).to.deep.equal({ 401: 10 })
    expect(counts(await atOnce(10, () => whoAnswers(next)))).to.deep.equal({ 200: 10 })
    await send(hub.port, {
      method: 'DELETE',
      path: `${keys}/${child.key_id}`,
      headers: bearer(apiKey),
    })
    await sleep(1_000)
    const refused = await atOnce(10, () => whoAnswers(next))
    expect(counts(refused)).to.deep.equal({ 401: 10 })
    expect(refused[0]?.json).to.include({ code: 'revoked_api_key', charged_microdollars: 0 })
  })

  it('a tree of keys three deep, 200 calls at once: no cap is passed at all', async () => {
    const price = usd('0.001')
    const root = await hub.agent(price * 150n)
    const make = async (parent: string, limits: object) =>
      (
        await send(hub.port, {
          path: '/v1/keys',
          headers: { ...bearer(parent), ...JSON_TYPE },
          body: JSON.stringify(limits),
        })
      ).json as { key_id: string; api_key: string }
    // Caps that are no multiples of the price: the remainder must stay.
    const child = await make(root.apiKey, { max_total_microdollars: 100_500 })
    const daily = await make(child.api_key, { max_day_microdollars: 40_999 })
    const total = await make(child.api_key, { max_total_microdollars: 30_001 })
    const keys = [root.apiKey, child.api_key, daily.api_key, total.api_key]
    const answers = await atOnce(200, (i) =>
      send(hub.port, {
        path: '/proxy/slow/work',
        headers: { ...bearer(keys[i % 4]!), ...JSON_TYPE },
        body: '{"ms":20}',
      }),
    )
    expect(pidsOf(answers)).to.have.property('size', 2)
    const paid = keys.map((_, k) =>
      answers.filter(({ status }, i) => i % 4 === k && status === 200),
    )
    const [byRoot, byChild, byDaily, byTotal] = paid.map(({ length }) => length)
    expect(byDaily).to.be.at.most(40)
    expect(byTotal).to.be.at.most(30)
    expect(byChild! + byDaily! + byTotal!, 'all that the cap of all three lets').to.equal(100)
    expect(byRoot).to.equal(50)
    expect(await hub.balance(root.keyId)).to.equal(0n)
    const { rows } = await hub.database.pool.query<{ key: string; left: bigint }>(
      `SELECT split_part(a.code, ':', 3) AS key, b.balance AS left
       FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
       WHERE split_part(a.code, ':', 3) = ANY ($1) AND a.code LIKE 'liabilities:allowances:key_%'`,
      [[child.key_id, daily.key_id, total.key_id]],
    )
    expect(new Map(rows.map(({ key, left }) => [key, left]))).to.deep.equal(
      new Map([
        [child.key_id, 500n],
        [daily.key_id, 40_999n - price * BigInt(byDaily!)],
        [total.key_id, 30_001n - price * BigInt(byTotal!)],
      ]),
    )
    const refused = answers.filter(({ status }) => status !== 200)
    for (const { status, json } of refused) {
      expect([402, 403, 429]).to.include(status)
      expect(json).to.have.property('charged_microdollars', 0)
    }
  })

  it('are reported by each process for all of them: GET /metrics', async () => {
    const read = async (): Promise<number> => {
      const { text } = await send(hub.port, { path: '/metrics' })
      const line =
        /^hub_http_requests_total\{route="\/v1\/services",method="GET",status="200"\} (\d+)$/m
      return Number(line.exec(text)?.[1] ?? 0)
    }
    const before = await read()
    await atOnce(30, () => send(hub.port, { path: '/v1/services' }))
    expect([await read(), await read()]).to.deep.equal([before + 30, before + 30])
  })

  it('hold when a process is killed, and another one takes its place', async () => {
    const { apiKey } = await hub.agent()
    const first = pidsOf(await atOnce(20, () => whoAnswers(apiKey)))
    const [victim] = [...first] as number[]
    process.kill(victim!, 'SIGKILL')
    await eventually(() => hub.logged.includes('worker exited'))
    const answers = await atOnce(120, () => whoAnswers(apiKey))
    expect(counts(answers), 'what was counted is not lost with it').to.deep.equal({
      200: 80,
      429: 40,
    })
    const seen = new Set<unknown>()
    await eventually(async () => {
      const { apiKey: fresh } = await hub.agent()
      for (const pid of pidsOf(await atOnce(20, () => whoAnswers(fresh)))) seen.add(pid)
      return seen.size >= 2
    })
    expect(seen).not.to.include(victim)
  })

  it('leave no lease of a killed process, so that others take over its work at once', async () => {
    const leases = async (): Promise<readonly string[]> => {
      const { rows } = await hub.database.admin.query('SELECT id FROM hub.process')
      return rows.map(({ id }) => id)
    }
    const before = await leases()
    const { apiKey } = await hub.agent()
    const [victim] = [...pidsOf([await whoAnswers(apiKey)])] as number[]
    process.kill(victim!, 'SIGKILL')
    await eventually(async () => {
      const now = await leases()
      const kept = before.filter((id) => now.includes(id))
      return kept.length === before.length - 1 && now.length === before.length
    })
  })
})

describe('limits over two processes that count in Redis', () => {
  let redis: RedisServer
  let hub: ProcessHub
  before(async function () {
    if (!redisProgram()) skip(this, "needs Debian's redis-server or valkey-server")
    redis = await startRedis()
    hub = await ProcessHub.start({ HUB_WORKERS: '2', REDIS_URL: redis.url })
  })
  after(async () => {
    await hub?.close()
    await redis?.kill()
  })

  it('A056 the store is killed in the middle: no 5xx, each process holds the limit', async () => {
    const { apiKey } = await hub.agent()
    const ask = () => send(hub.port, { path: '/proxy/slow/process', headers: bearer(apiKey) })
    const first = atOnce(60, ask)
    await first
    const middle = atOnce(100, ask)
    await redis.kill()
    const answers = [...(await first), ...(await middle), ...(await atOnce(200, ask))]
    const { 200: passed = 0, 429: refused = 0, ...others } = counts(answers)
    expect(others).to.deep.equal({})
    expect(passed + refused).to.equal(360)
    const each = new Map<unknown, number>()
    for (const { json } of answers) {
      if (json['pid']) each.set(json['pid'], (each.get(json['pid']) ?? 0) + 1)
    }
    expect([...each.values()].every((count) => count <= 100)).to.equal(true)
    expect(passed).to.be.within(100, 200)
    expect(hub.logged).to.include('counting per process')
  })
})
