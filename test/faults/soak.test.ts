import { expect } from 'chai'
import { Pool } from 'undici'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { usd } from '../../core/money.ts'
import { ask } from '../support/ask.ts'
import { ProcessHub } from '../support/workers.ts'

const SECONDS = 180
const PER_SECOND = 200
/** The paid tier allows each agent 1,000 requests a minute. */
const AGENTS = 15
/** Time until code is compiled and the per-key caches are filled. */
const WARM_UP_SECONDS = 60
const TICK_MS = 50
const SAMPLES = 5
const SAMPLE_INTERVAL_MS = 3_000
/** Maximum number of pending calls on a machine too slow for the rate. */
const WAITING_MAX = 200
const PRICE = usd('0.001')
const MB = 1_000_000

interface Usage {
  readonly bytes: number
  readonly resources: readonly string[]
}

describe('A078 a hub under minutes of load', function () {
  this.timeout((WARM_UP_SECONDS + SECONDS + 120) * 1_000)
  let hub: ProcessHub
  let pool: Pool
  let agents: { readonly apiKey: string; readonly keyId: string }[]
  before(async () => {
    hub = await ProcessHub.start({ HUB_LOG_LEVEL: 'warn' })
    pool = new Pool(hub.url, { connections: 32 })
    agents = await Promise.all(Array.from({ length: AGENTS }, () => hub.agent(usd('100'))))
  })
  after(async () => {
    await pool?.close()
    await hub?.close()
  })

  /**
   * Returns the smallest of several measurements: single ones differ by megabytes because of work
   * in progress.
   */
  const measure = async (): Promise<Usage> => {
    const samples: Usage[] = []
    for (let i = 0; i < SAMPLES; i++) {
      await sleep(SAMPLE_INTERVAL_MS)
      const { body } = await ask(hub.url, '/proxy/slow/memory', { key: agents[0]!.apiKey })
      samples.push(body as unknown as Usage)
    }
    return samples.toSorted((a, b) => a.bytes - b.bytes)[0]!
  }
  const call = async (n: number): Promise<boolean> => {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/proxy/slow/work',
      headers: {
        authorization: `Bearer ${agents[n % AGENTS]!.apiKey}`,
        'content-type': 'application/json',
      },
      body: '{"ms":0}',
    })
    await body.dump()
    return statusCode === 200
  }

  /** Sends calls at the fixed rate. Returns the number of successful and failed calls. */
  async function run(seconds: number): Promise<{ served: number; failed: number }> {
    const start = elapsedMs()
    const count = { served: 0, failed: 0 }
    const waiting = new Set<Promise<void>>()
    let sent = 0
    const send = (): void => {
      const done = call(sent++)
        .catch(() => false)
        .then((ok) => void (ok ? count.served++ : count.failed++))
        .finally(() => waiting.delete(done))
      waiting.add(done)
    }
    for (let now = 0; now < seconds * 1_000; now = elapsedMs() - start) {
      const due = Math.floor((now / 1_000) * PER_SECOND)
      const more = Math.min(due - sent, WAITING_MAX - waiting.size)
      for (let i = 0; i < more; i++) send()
      if (waiting.size >= WAITING_MAX) sent = Math.max(sent, due - WAITING_MAX)
      await sleep(TICK_MS)
    }
    await Promise.all(waiting)
    return count
  }

  it('keeps memory, handles and timers flat, and charges each call once', async () => {
    const warm = await run(WARM_UP_SECONDS)
    const before = await measure()
    const { served, failed } = await run(SECONDS)
    const after = await measure()
    expect([warm.failed, failed]).to.deep.equal([0, 0])
    const growth = ((after.bytes - before.bytes) / MB / served) * 100_000
    expect(growth, 'MB for 100,000 calls').to.be.below(5)
    expect(after.resources.length - before.resources.length, 'handles and timers').to.be.below(20)
    const left = await Promise.all(agents.map(({ keyId }) => hub.balance(keyId)))
    const spent = usd('100') * BigInt(AGENTS) - left.reduce((sum, each) => sum + each, 0n)
    expect(spent).to.equal(PRICE * BigInt(warm.served + served))
    const { rows } = await hub.database.pool.query('SELECT FROM ledger.open_hold')
    expect(rows).to.deep.equal([])
  })
})
