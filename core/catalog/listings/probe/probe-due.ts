import type { Pool } from 'pg'
import { elapsedMs, sleep } from '../../../clock.ts'
import type { Egress } from '../../../egress/http.ts'
import { startTimeBudget, type TimeBudget } from '../time-budget.ts'
import { recordProbe } from './record.ts'
import type { Robots } from './robots.ts'
import { sendProbe } from './send-probe.ts'
import { claimTurns, type DueListing, type HostTurn, postpone, release } from './turns.ts'

export interface ProbeDeps extends TimeBudget {
  readonly pool: Pool
  readonly egress: Egress
  readonly robots: Robots
  /** True if the hub pays metered prices. @defaultValue false */
  readonly buysMetered?: boolean
  /** @defaultValue a polite pace */
  readonly pace?: Partial<ProbePace>
}

export interface ProbePace {
  /** Hosts probed at the same time, each with one probe at a time. */
  readonly hosts: number
  /** Pause after each probe of a host, in ms. */
  readonly gapMs: number
  /** Maximum number of probes of a host before it queues again behind the others. */
  readonly perHost: number
  /** Duration in ms after which a host queues again, too. */
  readonly turnMs: number
}

const DEFAULT_PACE: ProbePace = { hosts: 64, gapMs: 1_000, perHost: 10, turnMs: 20_000 }

/**
 * Probes due listings until none is left or time is up. Hosts take turns, those whose listings are
 * due for longest first, so that no host delays another. Safe in several processes at once.
 */
export async function probeDue(
  deps: ProbeDeps,
): Promise<{ readonly probed: number; readonly up: number }> {
  const pace = { ...DEFAULT_PACE, ...deps.pace }
  const isTimeUp = startTimeBudget(deps, 45_000)
  const counts = { probed: 0, up: 0 }
  const turns: HostTurn[] = []
  const busy = new Set<string>()
  let claiming: Promise<void> | undefined
  let noneDue = false
  const claim = async (): Promise<void> => {
    turns.push(...(await claimTurns(deps.pool, busy, pace.perHost)))
    for (const { host } of turns) busy.add(host)
    noneDue = turns.length === 0
  }
  const nextTurn = async (): Promise<HostTurn | undefined> => {
    if (turns.length === 0 && !noneDue && !isTimeUp()) {
      claiming ??= claim().finally(() => (claiming = undefined))
      await claiming
    }
    return isTimeUp() ? undefined : turns.shift()
  }
  const work = async (): Promise<void> => {
    for (let turn = await nextTurn(); turn; turn = await nextTurn()) {
      const { host, listings } = turn
      const rest = await probeHost(deps, listings, { pace, isTimeUp, counts })
      await release(deps.pool, rest)
      busy.delete(host)
      noneDue = false
    }
  }
  await Promise.all(Array.from({ length: pace.hosts }, work))
  await release(
    deps.pool,
    turns.flatMap(({ listings }) => listings),
  )
  return counts
}

interface Round {
  readonly pace: ProbePace
  readonly isTimeUp: () => boolean
  readonly counts: { probed: number; up: number }
}

/** Probes listings of one host, one at a time. @returns those for which there was no time */
async function probeHost(
  deps: ProbeDeps,
  listings: readonly DueListing[],
  { pace, isTimeUp, counts }: Round,
): Promise<readonly DueListing[]> {
  const until = elapsedMs() + pace.turnMs
  for (const [nth, listing] of listings.entries()) {
    if (isTimeUp() || elapsedMs() >= until) return listings.slice(nth)
    if (deps.robots.isWaiting(listing.url)) {
      await postpone(deps.pool, listings.slice(nth))
      return []
    }
    counts.probed += 1
    if (await probeOne(deps, listing)) counts.up += 1
    await sleep(pace.gapMs)
  }
  return []
}

/**
 * Probes one listing now.
 * @param options.again true to request a robots.txt again that could not be fetched
 * @returns true if it is up
 */
export async function probeOne(
  { pool, egress, robots, buysMetered }: ProbeDeps,
  listing: Pick<DueListing, 'id' | 'url' | 'method'>,
  options: { readonly again?: boolean } = {},
): Promise<boolean> {
  const refusal = await robots.refusal(listing.url, options)
  const outcome =
    refusal === undefined
      ? await sendProbe(egress, listing, buysMetered)
      : { outcome: refusal, status: undefined }
  await recordProbe(pool, listing.id, outcome, Math.random())
  return outcome.outcome === 'up'
}
