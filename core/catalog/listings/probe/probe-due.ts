import type { Pool } from 'pg'
import { sleep } from '../../../clock.ts'
import type { Egress } from '../../../egress/http.ts'
import type { ListingMethod } from '../store.ts'
import { startTimeBudget, type TimeBudget } from '../time-budget.ts'
import { recordProbe } from './record.ts'
import type { Robots } from './robots.ts'
import { sendProbe } from './send-probe.ts'

export interface ProbeDeps extends TimeBudget {
  readonly pool: Pool
  readonly egress: Egress
  readonly robots: Robots
  /** @defaultValue a polite pace */
  readonly pace?: Partial<ProbePace>
}

export interface ProbePace {
  /** Hosts probed at the same time, each with one probe at a time. */
  readonly hosts: number
  /** Pause between two probes of one host, in ms. */
  readonly gapMs: number
  /** Maximum number of probes per host and round. */
  readonly perHost: number
}

const DEFAULT_PACE: ProbePace = { hosts: 8, gapMs: 1_000, perHost: 30 }
const ROUND_SIZE = 400

interface DueListing {
  readonly id: string
  readonly url: string
  readonly method: ListingMethod
  readonly host: string
}

/** Probes due listings until none is left or time is up. Safe in several processes at once. */
export async function probeDue(
  deps: ProbeDeps,
): Promise<{ readonly probed: number; readonly up: number }> {
  const pace = { ...DEFAULT_PACE, ...deps.pace }
  const isTimeUp = startTimeBudget(deps, 45_000)
  let [probed, up] = [0, 0]
  while (!isTimeUp()) {
    const due = await claimDueListings(deps.pool)
    if (due.length === 0) break
    const hosts = [...Map.groupBy(due, ({ host }) => host).values()]
    const left: DueListing[] = []
    const worker = async (): Promise<void> => {
      for (let listings = hosts.shift(); listings; listings = hosts.shift()) {
        left.push(...listings.slice(pace.perHost))
        for (const [nth, one] of listings.slice(0, pace.perHost).entries()) {
          if (isTimeUp()) {
            left.push(one)
            continue
          }
          if (nth > 0) await sleep(pace.gapMs)
          probed += 1
          if (await probeOne(deps, one)) up += 1
        }
      }
    }
    await Promise.all(Array.from({ length: pace.hosts }, worker))
    await postpone(deps.pool, left)
  }
  return { probed, up }
}

/** Probes one listing now. @returns true if it is up */
export async function probeOne(
  { pool, egress, robots }: ProbeDeps,
  listing: Pick<DueListing, 'id' | 'url' | 'method'>,
): Promise<boolean> {
  const refusal = await robots.refusal(listing.url)
  const outcome =
    refusal === undefined
      ? await sendProbe(egress, listing)
      : { outcome: refusal, status: undefined }
  await recordProbe(pool, listing.id, outcome, Math.random())
  return outcome.outcome === 'up'
}

/** Claims due listings for 10 minutes, so that those of a dead process become due again. */
async function claimDueListings(pool: Pool): Promise<DueListing[]> {
  const { rows } = await pool.query<DueListing>(
    `UPDATE hub.listing SET next_probe_at = now() + interval '10 minutes' WHERE id IN (
       SELECT id FROM hub.listing WHERE next_probe_at <= now() ORDER BY next_probe_at
       LIMIT $1 FOR UPDATE SKIP LOCKED)
     RETURNING id, url, method, host`,
    [ROUND_SIZE],
  )
  return rows
}

/** Postpones the rest of a host with many listings, so that other hosts are probed first. */
async function postpone(pool: Pool, left: readonly DueListing[]): Promise<void> {
  if (left.length === 0) return
  await pool.query(
    `UPDATE hub.listing SET next_probe_at = now() + interval '20 seconds' WHERE id = ANY ($1)`,
    [left.map(({ id }) => id)],
  )
}
