import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import { elapsedMs } from '../../core/clock.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { freshDatabase, stopSharedCluster } from '../support/postgres.ts'
import { atMost, below, type Report, type Table } from './report.ts'

const SMALL = 20_000
const LARGE = 100_000
/** Every seventh row is invalid, as observed in a real index. */
const DIRTY = 7
const PAGE_MAX = 1_000

interface ImportResult {
  readonly outcome: string
  readonly cpuSeconds: number
  readonly databaseSeconds: number
  readonly peakMiB: number
}
type Import = ImportResult & { readonly wallSeconds: number }

/**
 * Imports indexes of 20,000 and 100,000 rows, each in its own process, and the larger one a second
 * time unchanged: CPU time of process and database, and peak memory.
 */
export async function discovery(): Promise<Report> {
  let rows = SMALL
  const server = createServer(({ url }, response) => {
    const params = new URL(url ?? '', 'http://x').searchParams
    const limit = Math.min(PAGE_MAX, Number(params.get('limit')))
    const offset = Number(params.get('offset'))
    const count = Math.max(0, Math.min(limit, rows - offset))
    const items = Array.from({ length: count }, (_, n) => rowAt(offset + n))
    response.end(JSON.stringify({ items, pagination: { limit, offset, total: rows } }))
  })
  const port = await listenOnLoopback(server)
  try {
    const small = await importInto(await freshDatabase(), port)
    rows = LARGE
    const database = await freshDatabase()
    const large = await importInto(database, port, false)
    const again = await importInto(database, port)
    return report(small, large, again)
  } finally {
    server.close()
    await stopSharedCluster()
  }
}

async function importInto(
  database: Awaited<ReturnType<typeof freshDatabase>>,
  port: number,
  drop = true,
): Promise<Import> {
  const child = new URL('./discovery-child.ts', import.meta.url).pathname
  const start = elapsedMs()
  const { stdout } = await promisify(execFile)(process.execPath, [
    child,
    database.url,
    String(port),
  ])
  const wallSeconds = (elapsedMs() - start) / 1_000
  if (drop) await database.drop()
  const taken = JSON.parse(stdout) as ImportResult
  if (taken.outcome !== 'whole') throw new Error(`the import ended otherwise: ${stdout}`)
  return { ...taken, wallSeconds }
}

const HEX = '0123456789abcdef'

/** Returns a row of about two kilobytes, like those of CDP. */
function rowAt(n: number): unknown {
  const payTo = `0x${Array.from({ length: 40 }, (_, at) => HEX[(n * 7 + at * 3) % 16]).join('')}`
  const asset = n % DIRTY === 0 ? 'USDC' : '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
  return {
    resource: `https://api${n % 4_000}.acme.com/v1/resource/${n}`,
    type: 'http',
    x402Version: 2,
    lastUpdated: '2026-05-14T14:26:42.878Z',
    serviceName: `Service ${n}`,
    description: `Number ${n}: ${'tells what somebody wants to know. '.repeat(8)}`,
    tags: ['data', `tag-${n % 50}`],
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:8453',
        asset,
        payTo,
        maxTimeoutSeconds: 60,
        amount: String(1_000 + (n % 900)),
        extra: { name: 'USD Coin', version: '2' },
      },
    ],
    extensions: { bazaar: { info: { input: INPUT, output: { type: 'json' } }, schema: SCHEMA } },
  }
}

const INPUT = { type: 'http', method: 'GET', queryParams: { q: 'rain', limit: '10' } }
const SCHEMA = {
  properties: {
    input: {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 8 }, (_, n) => [`field${n}`, { type: 'string', maxLength: 100 + n }]),
      ),
    },
  },
}

const rounded = (value: number): number => Math.round(value * 10) / 10

function report(small: Import, large: Import, again: Import): Report {
  const imports = { small, large, again }
  const figures = Object.fromEntries(
    Object.entries(imports).flatMap(([name, one]) => [
      [`${name}_cpu_seconds`, rounded(one.cpuSeconds)],
      [`${name}_database_cpu_seconds`, rounded(one.databaseSeconds)],
      [`${name}_wall_seconds`, rounded(one.wallSeconds)],
      [`${name}_peak_mib`, rounded(one.peakMiB)],
    ]),
  )
  const table: Table = {
    title: 'Imports of an index',
    columns: ['rows', 'CPU s', 'database CPU s', 'wall s', 'peak MiB'],
    rows: [
      [SMALL, ...cells(small)],
      [LARGE, ...cells(large)],
      [`${LARGE} again`, ...cells(again)],
    ],
  }
  const cpu = large.cpuSeconds + large.databaseSeconds
  const growth = large.peakMiB / small.peakMiB
  const targets = [
    below('CPU seconds of process and database to import 100,000 rows', rounded(cpu), 60),
    atMost('times the memory to import 5 times the rows', Math.round(growth * 100) / 100, 1.5),
  ]
  return { name: 'discovery', figures, tables: [table], targets }
}

const cells = ({ cpuSeconds, databaseSeconds, wallSeconds, peakMiB }: Import): number[] =>
  [cpuSeconds, databaseSeconds, wallSeconds, peakMiB].map(rounded)
