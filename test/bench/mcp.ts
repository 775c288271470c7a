import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { encode } from 'gpt-tokenizer'
import { Client } from 'pg'
import { Pool } from 'undici'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { joinDatabase } from '../../core/db/open.ts'
import { newFolder } from './folder.ts'
import { median, overall, ratioOf, rounded, type Sample, sample } from './load.ts'
import { atLeast, atMost, below, type Report, type Target } from './report.ts'
import { type MeasuredServer, measuredServer, SERVE, start } from './x402/servers.ts'

const ECHO = new URL('./mcp/echo.ts', import.meta.url).pathname
const CLI = new URL('../../server/cli/hub.mjs', import.meta.url).pathname
const HELP_RUNS = 11
const CONNECTIONS = 10
const ROUNDS = 5
const SECONDS = 2
/** Warm-up until the code of both sides is compiled; the hub has more code than the echo. */
const WARM_UP_SECONDS = 6
/** Pause for timers that expired while the process was stopped, which are not part of the turn. */
const RESUME_PAUSE_MS = 1_000
const REQUESTS_PER_MINUTE_MAX = 1_000_000

/** One kind of measured request. */
interface Side {
  readonly name: string
  readonly server: MeasuredServer
  readonly once: () => Promise<void>
}

const toolCall = (name: string, args: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })

const LOOK = toolCall('hub_get_service', { slug: 'echo' })
const CALL = toolCall('hub_call', {
  service: 'echo',
  endpoint: 'POST /say',
  input: { words: 'hello' },
  max_price_usd: '0.01',
})

/**
 * Tool calls per second of the whole hub, compared with a bare json-rpc-2.0 echo on Koa: each in
 * its own process, in turns, with the other stopped.
 */
export async function mcp(): Promise<Report> {
  const dataDir = newFolder()
  const ends: (() => Promise<void>)[] = []
  try {
    const { kept, found } = await start(
      SERVE,
      { HUB_DATA_DIR: dataDir, HUB_PORT: '0' },
      /ready at (\S+)[^]*Bearer (ahk_\w+)/,
    )
    const hub = measuredServer(kept, found[1]!)
    ends.push(() => hub.end())
    const echo = await start([ECHO], {}, /ready at (\S+)/)
    const peer = measuredServer(echo.kept, echo.found[1]!)
    ends.push(() => peer.end())
    await raiseRateLimit(dataDir)
    const asker = mcpClient(hub.url, found[2]!)
    const bare = mcpClient(peer.url, 'none')
    ends.push(
      () => asker.end(),
      () => bare.end(),
    )
    const { result } = await asker.ask(toolsList())
    const sides: readonly Side[] = [
      { name: 'echo', server: peer, once: () => bare.call(LOOK) },
      { name: 'hub_get_service', server: hub, once: () => asker.call(LOOK) },
      { name: 'hub_call', server: hub, once: () => asker.call(CALL) },
    ]
    for (const { server } of sides) server.pause()
    const rounds = await measure(sides)
    const tokens = encode(JSON.stringify(result.tools)).length
    return report(rounds, sides, { tools_list_tokens: tokens, ...helpMs(dataDir) })
  } finally {
    for (const end of ends.reverse()) await end()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/**
 * Measures `hub --help` in a clone, in ms: the first run, without compiled code, and the median of
 * the later ones.
 */
function helpMs(home: string) {
  const env = { PATH: process.env['PATH'], HOME: home }
  const [first = 0, ...later] = Array.from({ length: HELP_RUNS + 1 }, () => {
    const before = elapsedMs()
    execFileSync(process.execPath, [CLI, '--help'], { stdio: 'ignore', env })
    return elapsedMs() - before
  })
  return { hub_help_ms: rounded(median(later)), hub_help_first_ms: rounded(first) }
}

const toolsList = (): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })

/** Raised limit of the benchmark's key; a paid key has 1,000 requests a minute. */
async function raiseRateLimit(dataDir: string): Promise<void> {
  const { url } = await joinDatabase({ dataDir })
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`UPDATE hub.api_key SET rate_per_minute = ${REQUESTS_PER_MINUTE_MAX}`)
  await client.end()
}

function mcpClient(url: string, key: string) {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 })
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${key}`,
  }
  const send = async (body: string): Promise<string> => {
    const answer = await pool.request({ path: '/mcp', method: 'POST', headers, body })
    const text = await answer.body.text()
    if (answer.statusCode !== 200 || text.includes('"isError"')) throw new Error(text)
    return text
  }
  return {
    ask: async (body: string) =>
      JSON.parse(await send(body)) as { readonly result: { readonly tools: unknown } },
    call: async (body: string) => void (await send(body)),
    end: () => pool.close(),
  }
}

async function turn({ server, once }: Side, seconds: number): Promise<Sample> {
  server.resume()
  try {
    await sleep(RESUME_PAUSE_MS)
    return await sample(CONNECTIONS, seconds, once)
  } finally {
    server.pause()
  }
}

type Round = ReadonlyMap<string, Sample>

async function measure(sides: readonly Side[]): Promise<readonly Round[]> {
  for (const side of sides) await turn(side, WARM_UP_SECONDS)
  const rounds: Round[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const samples = new Map<string, Sample>()
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      samples.set(side.name, await turn(side, SECONDS))
    }
    rounds.push(samples)
  }
  return rounds
}

function report(
  rounds: readonly Round[],
  sides: readonly Side[],
  more: Readonly<Record<string, number>>,
): Report {
  const figures: Record<string, number> = { ...more }
  const rows: (string | number)[][] = []
  for (const { name } of sides) {
    const samples = rounds.map((round) => round.get(name)!)
    const { perSecond, p50Ms, p99Ms } = overall(samples)
    figures[`${name}_per_s`] = rounded(perSecond)
    figures[`${name}_p50_ms`] = rounded(p50Ms, 2)
    figures[`${name}_p99_ms`] = rounded(p99Ms, 2)
    rows.push([name, CONNECTIONS, rounded(perSecond), rounded(p50Ms, 2), rounded(p99Ms, 2)])
    const failed = samples.find(({ firstError }) => firstError !== undefined)
    if (failed) throw new Error(`${name}: ${failed.firstError}`)
  }
  for (const name of ['hub_get_service', 'hub_call']) {
    figures[`${name}_ratio`] = rounded(ratioOf(rounds, name, 'echo'), 2)
  }
  const columns = ['request', 'at once', 'per s', 'p50 ms', 'p99 ms']
  const table = { title: `MCP: ${ROUNDS} rounds in turns`, columns, rows }
  return { name: 'mcp', figures, tables: [table], targets: targets(figures) }
}

const targets = (figures: Readonly<Record<string, number>>): Target[] => {
  const { hub_get_service_ratio: share = 0, tools_list_tokens: tokens = 0 } = figures
  const { hub_help_ms: help = 0 } = figures
  return [
    atLeast('hub_get_service per second to a bare json-rpc-2.0 + Koa echo', share, 0.5),
    atMost('tokens of tools/list', tokens, 3_000),
    below('ms of hub --help', help, 150),
  ]
}
