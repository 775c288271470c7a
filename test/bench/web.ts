import { rm } from 'node:fs/promises'
import { brotliDecompressSync } from 'node:zlib'
import { request } from 'undici'
import { systemClock } from '../../core/clock.ts'
import { readConfig } from '../../core/config.ts'
import { createLog } from '../../core/log.ts'
import { startJobs } from '../../jobs/index.ts'
import { plugins, privileged } from '../../plugins/index.ts'
import { startHub } from '../../server/boot/start.ts'
import { openBrowser } from '../support/chromium.ts'
import { besideBusyLoops } from './busy-loops.ts'
import { newFolder } from './folder.ts'
import { load, rounded } from './load.ts'
import { below, none, type Report, type Table } from './report.ts'
import { addAccountData } from './web/account-data.ts'
import { type BenchDatabase, openBenchDatabase } from './web/bench-database.ts'
import { type Paths, pathsOf } from './web/paths.ts'
import { SERVE, start } from './x402/servers.ts'

/** Number of timed responses per page, or as many as arrive within SECONDS. */
const ANSWERS = 200
const SECONDS = 4
const WARM_SECONDS = 0.2
const CONCURRENCY = 2
const P99_GOAL = 60
/** With two busy loops beside the hub. */
const BUSY_P99_GOAL = 90
const WEIGHT_GOAL = 100
const KIB = 1_024

/** Measurements of one page. */
interface Seen {
  readonly page: string
  readonly answers: number
  readonly p50: number
  readonly p99: number
  /** Beside two busy loops. */
  readonly busyP99: number
  readonly kib: number
  readonly shift: number
}

/**
 * Every page with 100,000 listings, a million journal entries and ten million calls: response time,
 * bytes of a first visit, and layout shifts.
 * @param folder where the database stays, for later runs; deleted afterwards if undefined
 */
export async function web(folder?: string): Promise<Report> {
  const database = await openBenchDatabase(folder)
  const dataDir = newFolder()
  try {
    const paths = await preparePaths(database, dataDir)
    const env = {
      HUB_DATA_DIR: dataDir,
      HUB_PORT: '0',
      HUB_JOBS: 'off',
      HUB_PROXIES: '1', // rate limits count by network, so each request has a different one
      DATABASE_URL: database.url,
    }
    const { kept, found } = await start(SERVE, env, /ready at (\S+)/)
    try {
      return report(await look(found[1]!, database.person.token, paths))
    } finally {
      await kept.stop()
    }
  } finally {
    await database.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** Adds the data of the account by a hub in this process, which stops before the measurement. */
async function preparePaths({ url, admin, person }: BenchDatabase, dataDir: string) {
  const hub = await startHub({
    config: { ...readConfig({}), dataDir, port: 0, databaseUrl: url, jobs: false },
    loadParts: async () => ({ plugins, privileged, startJobs }),
    log: createLog('silent'),
    clock: systemClock,
  })
  try {
    const accountData = await addAccountData(hub, person)
    await admin.query('VACUUM ANALYZE')
    return await pathsOf(admin, person, accountData)
  } finally {
    await hub.stop()
  }
}

let networks = 0

async function get(url: string, token: string) {
  const n = ++networks
  const headers = {
    accept: 'text/html',
    'accept-encoding': 'br',
    cookie: `hub_session=${token}`,
    'x-forwarded-for': `10.${(n >> 16) & 255}.${(n >> 8) & 255}.1`,
  }
  const { statusCode, body, headers: responseHeaders } = await request(url, { headers })
  const bytes = Buffer.from(await body.arrayBuffer())
  if (statusCode !== 200) throw new Error(`${url}: ${statusCode} ${bytes.toString().slice(0, 300)}`)
  return {
    bytes,
    text: responseHeaders['content-encoding'] === 'br' ? brotliDecompressSync(bytes) : bytes,
  }
}

async function look(url: string, token: string, paths: Paths): Promise<readonly Seen[]> {
  const times = await timesOf(url, token, paths)
  const busyTimes = await besideBusyLoops(() => timesOf(url, token, paths))
  // started last: a browser keeps working after a page has loaded
  const browser = await openBrowser()
  try {
    const seen: Seen[] = []
    for (const [n, { page, answers, p50Ms, p99Ms }] of times.entries()) {
      const first = `${url}${paths[page]![0]}`
      seen.push({
        page,
        answers,
        p50: rounded(p50Ms),
        p99: rounded(p99Ms),
        busyP99: rounded(busyTimes[n]!.p99Ms),
        kib: rounded((await weightOf(url, first, token)) / KIB),
        shift: await shiftOf(browser, first, token),
      })
    }
    return seen
  } finally {
    await browser.close()
  }
}

/** Measures the response time of each page; all pages are warmed up first. */
async function timesOf(url: string, token: string, paths: Paths) {
  const askers = Object.entries(paths).map(([page, each]) => {
    let next = 0
    const ask = async () => {
      await get(`${url}${each[next++ % each.length]}`, token)
    }
    return { page, ask }
  })
  for (const { ask } of askers) await load(CONCURRENCY, WARM_SECONDS, ask)
  const times = []
  for (const { page, ask } of askers) {
    times.push({ page, ...(await load(CONCURRENCY, SECONDS, ask, ANSWERS)) })
  }
  return times
}

/** Returns the transferred bytes of a first visit: the page and all files it references. */
async function weightOf(origin: string, page: string, token: string): Promise<number> {
  const { bytes, text } = await get(page, token)
  const files = new Set(
    [...text.toString().matchAll(/"(\/assets\/[^"]+)"/g)].map(([, file]) => file),
  )
  const sizes = [...files].map(async (file) => (await get(`${origin}${file}`, token)).bytes.length)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, bytes.length)
}

const SHIFTS = `new Promise((resolve) => {
  let sum = 0
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) sum += entry.value
  }).observe({ type: 'layout-shift', buffered: true })
  setTimeout(() => resolve(sum), 300)
})`

/** Returns the cumulative layout shift of a page. */
async function shiftOf(
  browser: Awaited<ReturnType<typeof openBrowser>>,
  url: string,
  token: string,
): Promise<number> {
  const tab = await browser.newPage()
  await tab.setExtraHTTPHeaders({ 'x-forwarded-for': `10.200.${networks++ & 255}.1` })
  await browser.setCookie({ name: 'hub_session', value: token, domain: '127.0.0.1' })
  await tab.goto(url)
  const shift = (await tab.evaluate(SHIFTS)) as number
  await tab.close()
  return rounded(shift, 4)
}

function report(seen: readonly Seen[]): Report {
  const worst = Math.max(...seen.map(({ p99 }) => p99))
  const busyWorst = Math.max(...seen.map(({ busyP99 }) => busyP99))
  const heaviest = Math.max(...seen.map(({ kib }) => kib))
  const shift = Math.max(...seen.map((each) => each.shift))
  const table: Table = {
    title: 'pages over 100,000 listings, a million journal entries and ten million calls',
    columns: ['page', 'p99', 'answers', 'p50 ms', 'p99 ms', 'busy p99', 'KiB', 'layout shift'],
    rows: seen.map(({ page, answers, p50, p99, busyP99, kib, shift: moved }) => {
      const met = p99 < P99_GOAL && busyP99 < BUSY_P99_GOAL ? 'met' : 'missed'
      return [page, met, answers, p50, p99, busyP99, kib, moved]
    }),
  }
  const figures = Object.fromEntries(seen.map(({ page, p99 }) => [`p99_ms ${page}`, p99]))
  return {
    name: 'web',
    figures,
    tables: [table],
    targets: [
      below(`p99 of the slowest page, ${CONCURRENCY} at once, ms`, worst, P99_GOAL),
      below(
        `p99 of the slowest page, ${CONCURRENCY} at once, beside two busy loops, ms`,
        busyWorst,
        BUSY_P99_GOAL,
      ),
      below('weight of the heaviest first view, KiB', heaviest, WEIGHT_GOAL),
      none('largest layout shift', shift),
    ],
  }
}
