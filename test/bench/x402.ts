import { rmSync } from 'node:fs'
import type { PrivateKeyAccount } from 'viem/accounts'
import { sleep } from '../../core/clock.ts'
import type { Terms } from '../../core/payments/paying/terms.ts'
import { newFolder } from './folder.ts'
import { type LoadResult, median, rounded, type Sample, summary } from './load.ts'
import type { Report, Table, Target } from './report.ts'
import { buy, createWallets, offerOf, sign } from './x402/buyers.ts'
import { type MeasuredServer, startHub, startPeer } from './x402/servers.ts'

const ROUNDS = 3
const BUYERS = 64
/** Maximum number of paid requests per turn, by concurrency. */
const CELLS = [
  { name: 'sequential', connections: 1, count: 50 },
  { name: 'at_64', connections: 64, count: 320 },
] as const
const TURN_SECONDS = 6
const WARM_UP = [
  { connections: 64, count: 192 },
  { connections: 1, count: 10 },
] as const

/** Pause for timers that expired while the process was stopped, which are not part of the turn. */
const RESUME_PAUSE_MS = 1_000

/** One side of the comparison. */
interface Side {
  readonly name: 'hub' | 'express'
  readonly server: MeasuredServer
  readonly terms: Terms
}

/**
 * Paid requests per second of the whole hub without an API key, compared with `@x402/express`
 * selling the same handler: both with the hub's own facilitator in their process, on one chain, in
 * turns, with the other stopped.
 */
export async function x402(): Promise<Report> {
  const dataDir = newFolder()
  const servers: MeasuredServer[] = []
  try {
    const hub = await startHub(dataDir)
    servers.push(hub)
    const peer = await startPeer(hub)
    servers.push(peer)
    const sides: readonly Side[] = [
      { name: 'hub', server: hub, terms: await offerOf(hub.url) },
      { name: 'express', server: peer, terms: await offerOf(peer.url) },
    ]
    const buyers = await createWallets(BUYERS, hub.rpcUrl)
    for (const { server } of sides) server.pause()
    for (const cell of WARM_UP) for (const side of sides) await turn(side, cell, buyers)
    const rounds: Round[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const order = round % 2 === 0 ? sides : sides.toReversed()
      rounds.push(await play(order, buyers))
    }
    return report(rounds)
  } finally {
    for (const server of servers.reverse()) await server.end()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Samples of one round by the name of their cell and side. */
type Round = ReadonlyMap<string, Sample>
type Cell = Omit<(typeof CELLS)[number], 'name'> | (typeof WARM_UP)[number]

const keyOf = (cell: string, side: string): string => `${cell} ${side}`

async function play(order: readonly Side[], buyers: readonly PrivateKeyAccount[]): Promise<Round> {
  const round = new Map<string, Sample>()
  for (const cell of CELLS) {
    for (const side of order) round.set(keyOf(cell.name, side.name), await turn(side, cell, buyers))
  }
  return round
}

async function turn(
  { server, terms }: Side,
  { connections, count }: Cell,
  buyers: readonly PrivateKeyAccount[],
): Promise<Sample> {
  const payments = await sign(buyers, terms, count)
  server.resume()
  try {
    await sleep(RESUME_PAUSE_MS)
    return await buy(server.url, payments, connections, TURN_SECONDS)
  } finally {
    server.pause()
  }
}

function report(rounds: readonly Round[]): Report {
  const figures: Record<string, number> = {}
  const rows: (string | number)[][] = []
  for (const { name: cell } of CELLS) {
    for (const side of ['hub', 'express']) {
      const key = keyOf(cell, side)
      const samples = rounds.map((round) => round.get(key)!)
      const { perSecond, p50Ms, p99Ms } = overall(samples)
      const prefix = `${side}_${cell}`
      figures[`${prefix}_paid_per_s`] = rounded(perSecond)
      figures[`${prefix}_p50_ms`] = rounded(p50Ms)
      figures[`${prefix}_p99_ms`] = rounded(p99Ms)
      rows.push([side, cell.replace('_', ' '), rounded(perSecond), rounded(p50Ms), rounded(p99Ms)])
    }
    figures[`ratio_${cell}`] = rounded(ratio(rounds, cell), 2)
  }
  const samples = rounds.flatMap((round) => [...round.values()])
  figures['errors'] = samples.reduce((sum, { errors }) => sum + errors, 0)
  for (const { firstError } of samples) if (firstError !== undefined) console.error(firstError)
  const columns = ['seller', 'requests', 'paid/s', 'p50 ms', 'p99 ms']
  const table: Table = { title: `x402: ${ROUNDS} rounds in turns`, columns, rows }
  return { name: 'x402', figures, tables: [table], targets: targets(figures) }
}

/** Returns the latencies of all rounds together and the median rate. */
const overall = (samples: readonly Sample[]): LoadResult => ({
  ...summary(samples),
  perSecond: median(samples.map(({ calls, seconds }) => calls / seconds)),
})

const ratio = (rounds: readonly Round[], cell: string): number =>
  median(
    rounds.map((round) => {
      const [ours, theirs] = ['hub', 'express'].map((side) => round.get(keyOf(cell, side))!)
      return ours!.calls / ours!.seconds / (theirs!.calls / theirs!.seconds)
    }),
  )

function targets(figures: Readonly<Record<string, number>>): Target[] {
  const target = (name: string, figure: string, goal: number): Target => {
    const value = figures[figure]!
    return { name, goal: `≥ ${goal}`, value, met: value >= goal }
  }
  return [
    target('paid requests per second to @x402/express, sequential', 'ratio_sequential', 1),
    target('paid requests per second to @x402/express, 64 at once', 'ratio_at_64', 1.5),
  ]
}
