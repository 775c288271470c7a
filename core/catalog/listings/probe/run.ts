import type { Pool } from 'pg'
import { sleep } from '../../../clock.ts'
import type { Egress } from '../../../egress/http.ts'
import type { ListingMethod } from '../store.ts'
import { beginTurn, type Turn } from '../time-budget.ts'
import { probe } from './ask.ts'
import { recordProbe } from './record.ts'
import type { Robots } from './robots.ts'

export interface ProberPorts extends Turn {
  readonly pool: Pool
  readonly egress: Egress
  readonly robots: Robots
  /** How fast it goes; the defaults are polite. */
  readonly pace?: Partial<Pace>
}

export interface Pace {
  /** Hosts at the same time; of one host there is one probe at a time. */
  readonly hosts: number
  /** Between two probes of one host, in ms. */
  readonly gapMs: number
  /** Probes of one host in a round. */
  readonly perHost: number
}

export interface ProbeCount {
  readonly probed: number
  readonly up: number
}

const PACE: Pace = { hosts: 8, gapMs: 1_000, perHost: 30 }
const ROUND = 400

interface Due {
  readonly id: string
  readonly url: string
  readonly method: ListingMethod
  readonly host: string
}

/** Probes what is due, until nothing is or its time is over. Any number of processes may. */
export async function probeDue(ports: ProberPorts): Promise<ProbeCount> {
  const pace = { ...PACE, ...ports.pace }
  const isOver = beginTurn(ports, 45_000)
  let [probed, up] = [0, 0]
  while (!isOver()) {
    const due = await takeDue(ports.pool)
    if (due.length === 0) break
    const hosts = [...Map.groupBy(due, ({ host }) => host).values()]
    const left: Due[] = []
    const worker = async (): Promise<void> => {
      for (let own = hosts.shift(); own; own = hosts.shift()) {
        left.push(...own.slice(pace.perHost))
        for (const [nth, one] of own.slice(0, pace.perHost).entries()) {
          if (isOver()) {
            left.push(one)
            continue
          }
          if (nth > 0) await sleep(pace.gapMs)
          probed += 1
          if (await probeOne(ports, one)) up += 1
        }
      }
    }
    await Promise.all(Array.from({ length: pace.hosts }, worker))
    await giveBack(ports.pool, left)
  }
  return { probed, up }
}

/** Probes one listing now. @returns whether it is up */
export async function probeOne(
  { pool, egress, robots }: ProberPorts,
  listing: Pick<Due, 'id' | 'url' | 'method'>,
): Promise<boolean> {
  const refusal = await robots.refusal(listing.url)
  const outcome =
    refusal === undefined ? await probe(egress, listing) : { outcome: refusal, status: undefined }
  await recordProbe(pool, listing.id, outcome, Math.random())
  return outcome.outcome === 'up'
}

/** Takes what is due out of the others' sight; a process that dies gives it back by and by. */
async function takeDue(pool: Pool): Promise<Due[]> {
  const { rows } = await pool.query<Due>(
    `UPDATE hub.listing SET next_probe_at = now() + interval '10 minutes' WHERE id IN (
       SELECT id FROM hub.listing WHERE next_probe_at <= now() ORDER BY next_probe_at
       LIMIT $1 FOR UPDATE SKIP LOCKED)
     RETURNING id, url, method, host`,
    [ROUND],
  )
  return rows
}

/** What one host has too much of waits a little, so that others are not kept waiting by it. */
async function giveBack(pool: Pool, left: readonly Due[]): Promise<void> {
  if (left.length === 0) return
  await pool.query(
    `UPDATE hub.listing SET next_probe_at = now() + interval '20 seconds' WHERE id = ANY ($1)`,
    [left.map(({ id }) => id)],
  )
}
