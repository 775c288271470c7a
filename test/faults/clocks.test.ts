import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import { systemClock } from '../../core/clock.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'
import { ProcessHub } from '../support/workers.ts'

const FREE = 15
const PER_MINUTE = 100
const DAY_SECONDS = 86_400

/** Path of the libfaketime library; undefined if it is not installed. */
function libfaketime(): string | undefined {
  try {
    return execFileSync('faketime', ['-f', '+0', 'printenv', 'LD_PRELOAD']).toString().trim()
  } catch {
    return undefined
  }
}

/** Two hubs on one database, with clocks more than a month ahead of and behind the database's. */
describe('A077 two hubs with wrong clocks', function () {
  this.timeout(240_000)
  const preload = libfaketime()
  let database: FreshDatabase
  const hubs: ProcessHub[] = []
  const start = async (days: string, jobs: 'on' | 'off') => {
    const fakeTime = { LD_PRELOAD: preload!, FAKETIME: days, FAKETIME_DONT_FAKE_MONOTONIC: '1' }
    hubs.push(
      await ProcessHub.start({ ...fakeTime, HUB_JOBS: jobs, HUB_RATE_STORE: 'database' }, database),
    )
  }
  before(async function () {
    if (preload === undefined) this.skip()
    database = await freshDatabase()
    await start('+40d', 'on')
    await start('-40d', 'off')
  })
  after(async () => {
    await hubs[1]?.signal('SIGTERM')
    await hubs[0]?.close()
  })

  /** Sends `times` requests to each hub concurrently. */
  const both = async (
    times: number,
    path: string,
    key: string,
    body?: object,
  ): Promise<ApiResponse[]> =>
    Promise.all(
      hubs.flatMap((hub) =>
        Array.from({ length: times }, () => ask(hub.url, path, { ...(key && { key }), body })),
      ),
    )
  const count = (responses: readonly ApiResponse[], expected: number): number =>
    responses.filter(({ status }) => status === expected).length

  it('log times 40 days ahead of and behind the database', async () => {
    await both(1, '/v1/services', '')
    const { rows } = await database.pool.query('SELECT now()')
    const log = hubs.map(({ logged }) => /"time":"([^"]+)"/.exec(logged)?.[1] ?? '')
    const days = log.map((time) =>
      Math.round((Date.parse(time) - rows[0].now.getTime()) / (DAY_SECONDS * 1_000)),
    )
    expect(days).to.deep.equal([40, -40])
  })

  it('share one monthly quota of free calls', async () => {
    const { apiKey } = await hubs[0]!.agent()
    const responses = await both(FREE, '/proxy/analysis/sentiment', apiKey, {
      text: 'A lovely day.',
    })
    expect([count(responses, 200), count(responses, 402)]).to.deep.equal([FREE, FREE])
    const { rows } = await database.pool.query<{ months: number }>(
      `SELECT count(*)::integer AS months FROM ledger.account
       WHERE code LIKE 'liabilities:free-calls:prn%'`,
    )
    expect(rows[0]!.months, 'one month').to.equal(1)
  })

  it('share one rate limit window', async () => {
    const { apiKey } = await hubs[1]!.agent()
    const responses = await both(PER_MINUTE, '/proxy/slow/process', apiKey)
    expect(count(responses, 200)).to.equal(PER_MINUTE)
    expect(count(responses, 429)).to.equal(PER_MINUTE)
  })

  it('accept nonces from each other, with the same expiry', async () => {
    for (const [here, there] of [hubs, hubs.toReversed()] as [ProcessHub, ProcessHub][]) {
      const { body } = await ask(here.url, '/v1/register/challenge')
      const left = Date.parse(String(body['expires_at'])) - systemClock.now().getTime()
      expect(left / 1_000).to.be.within(60, DAY_SECONDS)
      const registered = await there.agent()
      expect(registered.apiKey).to.match(/^ahk_/)
    }
  })

  it('do not expire holds of each other early, and charge each call once', async () => {
    const price = 1_000n
    const { apiKey, keyId } = await hubs[0]!.agent(price * 10n)
    const responses = await both(2, '/proxy/slow/work', apiKey, { ms: 1_500 })
    expect(count(responses, 200)).to.equal(4)
    expect(await hubs[0]!.balance(keyId)).to.equal(price * 6n)
    const id = String(responses[3]!.headers['x-call-id'])
    const { body } = await ask(hubs[0]!.url, `/v1/calls/${id}`, { key: apiKey })
    const off = Date.parse(String(body['at'])) - systemClock.now().getTime()
    expect(Math.abs(off) / 1_000, 'seconds').to.be.below(60)
  })
})
