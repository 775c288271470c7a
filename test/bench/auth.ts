import { once } from 'node:events'
import { rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import Koa, { type Middleware } from 'koa'
import type { Pool } from 'pg'
import { Pool as HttpPool } from 'undici'
import { elapsedMs } from '../../core/clock.ts'
import { startEmbedded } from '../../core/db/embedded.ts'
import { migrate } from '../../core/db/migrate.ts'
import { createPool } from '../../core/db/pool.ts'
import { KeyRing } from '../../core/identity/keys.ts'
import { createMainKey, findOrCreatePrincipal } from '../../core/identity/main-keys.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { createLog } from '../../core/log.ts'
import { AccountStatus } from '../../core/usage/account-status.ts'
import { openWindows, type RateStore } from '../../core/usage/open-windows.ts'
import { RateLimits } from '../../core/usage/rate-limit.ts'
import { redisProgram, startRedis } from '../support/redis.ts'
import { newFolder } from './folder.ts'
import { median, rounded } from './load.ts'
import type { Report, Table } from './report.ts'

const KEYS = 320
const ROUNDS = 3
const CONCURRENCY = 64
const CACHED = 3_200
const REQUESTS = 2_000
const RATE = 1_000_000

type Admit = (authorization: string) => Promise<Readonly<Record<string, string>>>

/**
 * Cost of authenticating a caller and enforcing its rate limit, for recently used and for unused
 * keys and for each store; and a server that does only this, compared with one that does nothing.
 */
export async function auth(): Promise<Report> {
  const dataDir = newFolder()
  const database = await startEmbedded({ dataDir, durable: false })
  const redis = redisProgram() ? await startRedis() : undefined
  try {
    await migrate(database.url)
    const pool = createPool(database.url, { max: 20, role: 'hub_app' })
    try {
      const keys = await makeKeys(pool)
      const stores: Readonly<Record<string, RateStore>> = {
        memory: 'memory',
        database: 'database',
        ...(redis && { redis: { redisUrl: redis.url } }),
      }
      return await measure(pool, keys, stores)
    } finally {
      await pool.end()
    }
  } finally {
    await redis?.kill()
    await database.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function measure(
  pool: Pool,
  keys: readonly string[],
  stores: Readonly<Record<string, RateStore>>,
): Promise<Report> {
  const figures: Record<string, number> = {}
  const rows: Table['rows'][number][] = []
  for (const [name, store] of Object.entries(stores)) {
    const windows = await openWindows(store, pool, createLog('silent'))
    for (const concurrency of [1, CONCURRENCY]) {
      const cached = await cachedMicros(
        createAdmission(pool, new RateLimits(windows)),
        keys[0]!,
        concurrency,
      )
      const cold = await uncachedMicros(
        () => createAdmission(pool, new RateLimits(windows)),
        keys,
        concurrency,
      )
      rows.push([name, String(concurrency), cached.wall, cached.cpu, cold.wall, cold.cpu])
      for (const [how, { wall, cpu }] of Object.entries({ cached, cold })) {
        figures[`${name}_${concurrency}_${how}_us`] = wall
        figures[`${name}_${concurrency}_${how}_cpu_us`] = cpu
      }
    }
    await windows.close()
  }
  const served = await compareServers(pool, keys[0]!)
  Object.assign(figures, served)
  const title =
    'Authenticate and limit, µs for each call, and how much of it is CPU of this process'
  const columns = ['store', 'at once', 'cached', 'CPU', 'cold', 'CPU']
  const tables = [{ title, columns, rows }]
  return { name: 'auth', figures, tables, targets: [] }
}

/** Authentication and rate limit as at every entry point, without caches. */
function createAdmission(pool: Pool, limits: RateLimits): Admit {
  const ring = new KeyRing(pool)
  const accountStatus = new AccountStatus(pool)
  return async (authorization) => {
    const caller = await ring.authenticate(authorization)
    const { headers } = await limits.key(caller, await accountStatus.tier(caller.credits))
    return headers
  }
}

async function cachedMicros(admit: Admit, key: string, concurrency: number): Promise<Micros> {
  const times: Micros[] = []
  await micros(64, 1, () => admit(`Bearer ${key}`))
  for (let i = 0; i < ROUNDS; i++) {
    times.push(
      await micros(CACHED / (concurrency === 1 ? 4 : 1), concurrency, () => admit(`Bearer ${key}`)),
    )
  }
  return typical(times)
}

/** Measures each key once in a process that has not used it. */
async function uncachedMicros(
  make: () => Admit,
  keys: readonly string[],
  concurrency: number,
): Promise<Micros> {
  const times: Micros[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const admit = make()
    times.push(await micros(keys.length, concurrency, (n) => admit(`Bearer ${keys[n]}`)))
  }
  return typical(times)
}

/**
 * Compares two servers in turns: one only responds, the other first authenticates and rate limits.
 * Measures CPU time of this process, which also sends the requests to both.
 */
async function compareServers(pool: Pool, key: string): Promise<Record<string, number>> {
  const windows = await openWindows('memory', pool, createLog('silent'))
  const admit = createAdmission(pool, new RateLimits(windows))
  const hello: Middleware = (ctx) => {
    ctx.body = 'hello'
  }
  const known: Middleware = async (ctx) => {
    ctx.set({ ...(await admit(ctx.get('authorization'))) })
    ctx.body = 'hello'
  }
  const sides = [await serve(hello), await serve(known)] as const
  try {
    const times = sides.map((): Micros[] => [])
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [i, { client }] of sides.entries()) {
        const headers = { authorization: `Bearer ${key}` }
        const ask = async () => {
          const answer = await client.request({ path: '/', method: 'GET', headers })
          if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`)
          await answer.body.dump()
        }
        const took = await micros(REQUESTS, CONCURRENCY, ask)
        if (round > 0) times[i]!.push(took) // the first round is a warm-up
      }
    }
    const [bare, authenticated] = times.map((each) => typical(each).cpu) as [number, number]
    return {
      koa_hello_cpu_us: bare,
      koa_hello_authenticated_cpu_us: authenticated,
      added_cpu_us: rounded(authenticated - bare),
    }
  } finally {
    for (const { close } of sides) await close()
  }
}

async function serve(middleware: Middleware) {
  const server = new Koa().use(middleware).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = new HttpPool(`http://127.0.0.1:${port}`, { connections: CONCURRENCY })
  const close = async () => {
    await client.destroy()
    server.close()
    await once(server, 'close')
  }
  return { client, close }
}

/** Microseconds per call. */
interface Micros {
  readonly wall: number
  readonly cpu: number
}

const typical = (times: readonly Micros[]): Micros => ({
  wall: rounded(median(times.map(({ wall }) => wall))),
  cpu: rounded(median(times.map(({ cpu }) => cpu))),
})

/** Runs `work` `count` times, `atOnce` concurrently. Returns the mean time and CPU time per run. */
async function micros(
  count: number,
  concurrency: number,
  work: (n: number) => Promise<unknown>,
): Promise<Micros> {
  let next = 0
  const loop = async () => {
    while (next < count) await work(next++)
  }
  const start = elapsedMs()
  const before = process.cpuUsage()
  await Promise.all(Array.from({ length: concurrency }, loop))
  const { user, system } = process.cpuUsage(before)
  return { wall: ((elapsedMs() - start) * 1_000) / count, cpu: (user + system) / count }
}

async function makeKeys(pool: Pool): Promise<string[]> {
  const ledger = new Ledger(pool)
  const principal = await findOrCreatePrincipal(pool, `0x${'a'.repeat(40)}`)
  const made: string[] = []
  for (let i = 0; i < KEYS; i++) made.push((await createMainKey(pool, ledger, principal)).apiKey)
  await pool.query('UPDATE hub.api_key SET rate_per_minute = $1', [RATE])
  return made
}
