import { rmSync } from 'node:fs'
import type { PrivateKeyAccount } from 'viem/accounts'
import { sleep } from '../../core/clock.ts'
import { newFolder } from './folder.ts'
import { overall, ratioOf, rounded, type Sample } from './load.ts'
import { atLeast, none, type Report, type Table, type Target } from './report.ts'
import { buy, createWallets, offerOf } from './x402/buyers.ts'
import {
  buyCredits,
  keyPayer,
  mppPayer,
  type Payer,
  signInPayer,
  x402Payer,
} from './x402/payers.ts'
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

/** Sides in the order of their turns. */
const SIDES = ['hub', 'express', 'mpp', 'mppx', 'siwx', 'key'] as const

/** One side of a comparison. */
interface Side {
  readonly name: (typeof SIDES)[number]
  readonly server: MeasuredServer
  readonly pay: Payer
  /** Header of a response that was paid for. */
  readonly proof: string
}

/**
 * Paid requests per second of the whole hub, by x402 compared with `@x402/express`, by MPP compared
 * with `mppx/server`, and by signed challenges (SIWX) compared with API keys. All sell the same
 * handler, with the hub's own facilitator in their process, on one chain, in turns, with the others
 * stopped.
 */
export async function x402(): Promise<Report> {
  const dataDir = newFolder()
  const servers: MeasuredServer[] = []
  try {
    const hub = await startHub(dataDir)
    servers.push(hub)
    const express = await startPeer(hub, 'express')
    servers.push(express)
    const mppx = await startPeer(hub, 'mppx')
    servers.push(mppx)
    const buyers = await createWallets(BUYERS, hub.rpcUrl)
    const keys = await buyCredits(hub.url, buyers)
    const sides: readonly Side[] = [
      { name: 'hub', server: hub, pay: x402Payer(await offerOf(hub.url)), proof: X402 },
      { name: 'express', server: express, pay: x402Payer(await offerOf(express.url)), proof: X402 },
      { name: 'mpp', server: hub, pay: mppPayer(hub.url), proof: MPP },
      { name: 'mppx', server: mppx, pay: mppPayer(mppx.url), proof: MPP },
      { name: 'siwx', server: hub, pay: signInPayer(hub.url), proof: CREDITS },
      { name: 'key', server: hub, pay: keyPayer(keys), proof: CREDITS },
    ]
    for (const server of servers) server.pause()
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

const X402 = 'payment-response'
const MPP = 'payment-receipt'
const CREDITS = 'x-balance-microdollars'

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
  { server, pay, proof }: Side,
  { connections, count }: Cell,
  buyers: readonly PrivateKeyAccount[],
): Promise<Sample> {
  server.resume()
  try {
    const payments = await pay(buyers, count)
    await sleep(RESUME_PAUSE_MS)
    return await buy({ url: server.url, proof }, payments, connections, TURN_SECONDS)
  } finally {
    server.pause()
  }
}

function report(rounds: readonly Round[]): Report {
  const figures: Record<string, number> = {}
  const rows: (string | number)[][] = []
  for (const { name: cell } of CELLS) {
    for (const side of SIDES) {
      const key = keyOf(cell, side)
      const samples = rounds.map((round) => round.get(key)!)
      const { perSecond, p50Ms, p99Ms } = overall(samples)
      const prefix = `${side}_${cell}`
      figures[`${prefix}_paid_per_s`] = rounded(perSecond)
      figures[`${prefix}_p50_ms`] = rounded(p50Ms)
      figures[`${prefix}_p99_ms`] = rounded(p99Ms)
      rows.push([side, cell.replace('_', ' '), rounded(perSecond), rounded(p50Ms), rounded(p99Ms)])
    }
    for (const [name, one, other] of COMPARISONS)
      figures[`${name}_${cell}`] = rounded(ratioOf(rounds, keyOf(cell, one), keyOf(cell, other)), 2)
  }
  const samples = rounds.flatMap((round) => [...round.values()])
  figures['errors'] = samples.reduce((sum, { errors }) => sum + errors, 0)
  for (const { firstError } of samples) if (firstError !== undefined) console.error(firstError)
  const columns = ['seller', 'requests', 'paid/s', 'p50 ms', 'p99 ms']
  const table: Table = { title: `x402: ${ROUNDS} rounds in turns`, columns, rows }
  return { name: 'x402', figures, tables: [table], targets: targets(figures) }
}

/** Ratios by name: of the first side to the second. */
const COMPARISONS = [
  ['ratio', 'hub', 'express'],
  ['mpp_ratio', 'mpp', 'mppx'],
  ['siwx_ratio', 'siwx', 'key'],
] as const

function targets(figures: Readonly<Record<string, number>>): Target[] {
  const target = (name: string, figure: string, goal: number): Target =>
    atLeast(name, figures[figure]!, goal)
  return [
    target('paid requests per second to @x402/express, sequential', 'ratio_sequential', 1.05),
    target('paid requests per second to @x402/express, 64 at once', 'ratio_at_64', 3),
    target('paid requests per second by MPP to mppx/server, 64 at once', 'mpp_ratio_at_64', 1.5),
    target('calls per second by signed challenges to those by key', 'siwx_ratio_at_64', 0.8),
    none('failed requests', figures['errors']!),
  ]
}
