import { rmSync } from 'node:fs'
import { newFolder } from './folder.ts'
import { median, ratioOf, rounded, type Sample, summary } from './load.ts'
import { atLeast, type Report, type Table, type Target } from './report.ts'
import { drive } from './upstream/drive.ts'
import {
  BODY,
  cpuSeconds,
  expressSide,
  fastifySide,
  hubSide,
  mppxSide,
  open,
  PATH,
  type Side,
} from './upstream/sides.ts'

const ROUNDS = 3
/** Duration of a turn, which carries its share of the verification of the ledger each 10 s. */
const SECONDS = 10
/** Duration of the first, uncounted turn. All turns end before the challenge of mppx expires. */
const WARM_UP_SECONDS = 20
const CONNECTIONS = 256
/**
 * Duration of uncounted requests before each turn: a process that was stopped has overdue timers
 * and cold memory.
 */
const CATCH_UP_SECONDS = 1.5

interface Turn extends Sample {
  /** CPU time of the measured process and its database, in microseconds per request. */
  readonly cpu: number
}

/**
 * Paid calls through the hub to a provider's API, charged in the durable ledger, compared with
 * three proxies for the same API: one without payments, two with stub payments. While one is
 * measured, the others are stopped.
 */
export async function upstream(): Promise<Report> {
  const dataDir = newFolder()
  const ends: (() => Promise<void>)[] = []
  try {
    const api = await open('api')
    const facilitator = await open('api')
    ends.push(
      () => api.end(),
      () => facilitator.end(),
    )
    const sides: Side[] = []
    for (const make of [
      () => hubSide(dataDir, api.url),
      () => fastifySide(api.url),
      () => expressSide(api.url, facilitator.url),
      () => mppxSide(api.url),
    ]) {
      const side = await make()
      sides.push(side)
      ends.push(() => side.server.end())
    }
    for (const { server } of sides) server.pause()
    for (const side of sides) await turn(side, WARM_UP_SECONDS)
    const rounds: ReadonlyMap<string, Turn>[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const order = round % 2 === 0 ? sides : sides.toReversed()
      const made = new Map<string, Turn>()
      for (const side of order) made.set(side.name, await turn(side, SECONDS))
      rounds.push(made)
    }
    return report(rounds)
  } finally {
    for (const end of ends.reverse()) await end()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function turn({ server, pid, headers }: Side, seconds: number): Promise<Turn> {
  const { host } = new URL(server.url)
  const lines = Object.entries({ host, 'content-type': 'application/json', ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const request = `POST ${PATH} HTTP/1.1\r\n${head}content-length: ${BODY.length}\r\n\r\n${BODY}`
  server.resume()
  try {
    await drive(server.url, request, CONNECTIONS, CATCH_UP_SECONDS)
    const before = cpuSeconds(pid)
    const sample = await drive(server.url, request, CONNECTIONS, seconds)
    const cpu = ((cpuSeconds(pid) - before) * 1e6) / Math.max(1, sample.calls)
    return { ...sample, cpu }
  } finally {
    server.pause()
  }
}

const NAMES = ['hub', 'fastify', 'express', 'mppx'] as const
const LABELS = {
  hub: 'hub (paid, durable)',
  fastify: '@fastify/http-proxy (unpaid)',
  express: '@x402/express (stub)',
  mppx: 'mppx/proxy (stub)',
} as const

function report(rounds: readonly ReadonlyMap<string, Turn>[]): Report {
  const figures: Record<string, number> = {}
  const rows: (string | number)[][] = []
  for (const name of NAMES) {
    const turns = rounds.map((round) => round.get(name)!)
    const { p50Ms, p99Ms } = summary(turns)
    const rate = median(turns.map(({ calls, seconds }) => calls / seconds))
    const cpu = median(turns.map((each) => each.cpu))
    figures[`${name}_per_s`] = rounded(rate, 0)
    figures[`${name}_p50_ms`] = rounded(p50Ms)
    figures[`${name}_p99_ms`] = rounded(p99Ms)
    figures[`${name}_cpu_us`] = rounded(cpu, 0)
    rows.push([LABELS[name], rounded(rate, 0), rounded(p50Ms), rounded(p99Ms), rounded(cpu, 0)])
  }
  for (const name of NAMES.slice(1)) {
    figures[`ratio_${name}`] = rounded(ratioOf(rounds, 'hub', name), 2)
  }
  const turns = rounds.flatMap((round) => [...round.values()])
  figures['errors'] = turns.reduce((sum, { errors }) => sum + errors, 0)
  for (const { firstError } of turns) if (firstError !== undefined) console.error(firstError)
  const columns = ['proxy', 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs each']
  const title = `upstream: ${CONNECTIONS} at once, ${ROUNDS} rounds in turns`
  const table: Table = { title, columns, rows }
  return { name: 'upstream', figures, tables: [table], targets: targets(figures) }
}

function targets(figures: Readonly<Record<string, number>>): Target[] {
  const target = (name: string, figure: string, goal: number): Target =>
    atLeast(name, figures[figure]!, goal)
  return [
    target('durable paid requests per second', 'hub_per_s', 3_000),
    target('requests per second to @x402/express', 'ratio_express', 3.5),
    target('requests per second to mppx/proxy', 'ratio_mppx', 2.5),
    target('requests per second to @fastify/http-proxy, unpaid', 'ratio_fastify', 0.5),
  ]
}
