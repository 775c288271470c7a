import { expect } from 'chai'
import { Pool } from 'undici'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { sleep } from '../../core/clock.ts'
import { usd } from '../../core/money.ts'
import type { Document } from '../fuzz/response-checker.ts'
import { ask } from '../support/ask.ts'
import { readOpenApi } from '../support/openapi.ts'
import { ProcessHub } from '../support/workers.ts'
import {
  type Attack,
  documentAttacks,
  documentHeaderAttacks,
  formAttacks,
  headerAttacks,
  toolAttacks,
} from './event-loop/attacks.ts'

const ADMIN = privateKeyToAccount(generatePrivateKey())
/** The paid tier allows each agent 1,000 requests a minute. */
const AGENTS = 36
const PROBES = 6
/** Maximum processor time of one turn of the event loop. */
const TURN_MAX_MS = 50
/** Repetitions of an attack that exceeds the limit: its shortest turn counts. */
const REPEATS = 6
const MEMORY_MAX = 300_000_000
const RSS_MAX = 1_500_000_000
/** The faucet sends chain transactions; services of this test spin or end the hub on purpose. */
const SKIPPED = /faucet|proxy\/slow\//

describe('A136 the event loop of a hub', function () {
  this.timeout(600_000)
  let hub: ProcessHub
  let pool: Pool
  let keys: readonly string[]
  /** Keys that read the longest turn. */
  let probes: readonly string[]
  let next = 0
  let reads = 0
  before(async () => {
    hub = await ProcessHub.start({
      HUB_LOG_LEVEL: 'silent',
      HUB_PROXIES: '1',
      HUB_ADMIN_WALLETS: ADMIN.address,
    })
    pool = new Pool(hub.url, { connections: 4, bodyTimeout: 60_000 })
    const wallet = { account: ADMIN, sandbox: true }
    const { apiKey } = await new HubClient({ baseUrl: hub.url, wallet }).register()
    const agents = await Promise.all(Array.from({ length: AGENTS }, () => hub.agent(usd('1000'))))
    probes = agents.slice(0, PROBES).map((agent) => agent.apiKey)
    keys = [apiKey, ...agents.slice(PROBES).map((agent) => agent.apiKey)]
  })
  after(async () => {
    await pool?.close()
    await hub?.close()
  })

  async function send(attack: Attack): Promise<number | undefined> {
    const { method, path, headers = {}, body, isAnonymous = false } = attack
    const n = next++
    const own = {
      'x-forwarded-for': `10.${(n >> 8) & 255}.${n & 255}.1`,
      ...(isAnonymous || n % 5 === 0 ? {} : { authorization: `Bearer ${keys[n % keys.length]!}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }
    const response = await pool
      .request({ method, path, headers: own, body: body ?? null })
      .catch(() => undefined) // the hub may close the connection
    await response?.body.dump().catch(() => undefined)
    return response?.statusCode
  }

  async function readTurn(): Promise<{ ms: number; rss: number }> {
    for (let attempt = 0; ; attempt++) {
      const headers = { authorization: `Bearer ${probes[reads++ % probes.length]!}` }
      try {
        const request = { method: 'GET', path: '/proxy/slow/turn', headers }
        const { statusCode, body } = await pool.request(request)
        if (statusCode === 200) return (await body.json()) as { ms: number; rss: number }
        await body.dump()
        throw new Error(`status ${statusCode}`)
      } catch (error) {
        if (attempt === 5) throw error
        await sleep(200)
      }
    }
  }

  /** Sends attacks one after the other. Returns the longest turn of the event loop. */
  async function turnBy(attacks: readonly Attack[]): Promise<number> {
    await readTurn()
    for (const attack of attacks) await send(attack)
    return (await readTurn()).ms
  }

  /** Returns the attacks that hold the event loop beyond the limit, repeatedly. */
  async function findLongTurns(attacks: readonly Attack[]): Promise<readonly string[]> {
    const found: string[] = []
    const groups = Map.groupBy(attacks, (_, n) => Math.floor(n / 20))
    for (const group of groups.values()) {
      if ((await turnBy(group)) <= TURN_MAX_MS) continue
      for (const attack of group) {
        let ms = Infinity
        for (let i = 0; i < REPEATS && ms > TURN_MAX_MS; i++)
          ms = Math.min(ms, await turnBy([attack]))
        const { method, path, what } = attack
        if (ms > TURN_MAX_MS) found.push(`${method} ${path.slice(0, 60)}: ${what} takes ${ms} ms`)
      }
    }
    return found
  }

  const expectNone = (found: readonly string[]): void => {
    expect(found.join('\n')).to.equal('')
  }

  it('would be seen to be held', async () => {
    const spin = { what: 'spin', method: 'GET', path: '/proxy/slow/spin' }
    expect(await findLongTurns([spin])).to.have.length(1)
  })

  it('is not held by items that must differ', async () => {
    const unique = { path: '/proxy/slow/unique', isAnonymous: true }
    const bodies = [5_000, 20_000].map((count) =>
      JSON.stringify(Array.from({ length: count }, (_, n) => (n % 2 ? n : { a: n }))),
    )
    const attacks = [
      ...bodies.map((body, n) => ({ what: `items ${n}`, method: 'POST', ...unique, body })),
      { what: 'items of a response', method: 'GET', ...unique },
    ]
    const statuses: (number | undefined)[] = []
    for (const attack of attacks) statuses.push(await send(attack))
    expect(statuses).to.deep.equal([402, 402, 502])
    expectNone(await findLongTurns(attacks))
  })

  it('is not held by the body, query or path of any operation', async () => {
    const { body } = await readOpenApi(hub.url)
    const operations = documentAttacks(body as unknown as Document)
    expect(operations.length).to.be.above(80)
    const attacks = operations.flat().filter(({ path }) => !SKIPPED.test(path))
    expectNone(await findLongTurns(attacks))
  })

  it('is not held by the headers of a request', async () => {
    const { body } = await readOpenApi(hub.url)
    const everywhere = documentHeaderAttacks(body as unknown as Document)
    const attacks = [
      ...everywhere.filter(({ path }) => !SKIPPED.test(path)),
      ...headerAttacks('/v1/services'),
      ...headerAttacks('/services'),
      ...headerAttacks('/proxy/echo/say', 'POST'),
    ]
    expectNone(await findLongTurns(attacks))
  })

  it('is not held by forms', async () => {
    const paths = ['/sign-in', '/account/keys', '/provider/services', '/v1/sessions']
    expectNone(await findLongTurns(paths.flatMap((path) => formAttacks(path))))
  })

  it('is not held by the arguments of a tool', async () => {
    const { body } = await ask(hub.url, '/mcp', {
      key: keys[1]!,
      headers: { accept: 'application/json, text/event-stream' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
    })
    const { tools } = body['result'] as { tools: Parameters<typeof toolAttacks>[0] }
    expect(tools.length).to.be.above(8)
    expectNone(await findLongTurns(toolAttacks(tools).flat()))
  })

  it('has memory left after all of this', async () => {
    const { body } = await ask(hub.url, '/proxy/slow/memory', { key: keys[2]! })
    expect(body['bytes']).to.be.below(MEMORY_MAX)
    expect((await readTurn()).rss).to.be.below(RSS_MAX)
  })
})
