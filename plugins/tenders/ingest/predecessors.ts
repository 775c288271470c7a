import type { Snapshot, Wanted } from '../store/types.ts'
import type { Reading } from './day.ts'
import { IngestFailure, problemOf } from './failure.ts'
import { renderedOf } from './rendered.ts'
import { noticeQuery } from './search.ts'

/** Attempts, over two weeks, after which a missing notice is given up. */
const ATTEMPTS_MAX = 6
/** Delay before the second attempt; quadruples each time. */
const AGAIN_MS = 900_000
const WAVE = 100
const MANY = 10_000

const isDue = ({ attempts, askedAt }: Wanted, now: Date): boolean =>
  attempts < ATTEMPTS_MAX &&
  (askedAt === null || now.getTime() - askedAt.getTime() >= AGAIN_MS * 4 ** (attempts - 1))

/** Fetches notices that change notices refer to, for old values; returns how many came. */
export async function bringPredecessors(reading: Reading, snapshot: Snapshot): Promise<number> {
  const { store, settings, clock } = reading
  const looked = new Set<string>()
  let brought = 0
  for (let depth = 0; depth < settings.limits.depth; depth++) {
    const references = (await store.wanted(MANY))
      .filter((wanted) => isDue(wanted, clock.now()) && !looked.has(wanted.reference))
      .map(({ reference }) => reference)
      .slice(0, Math.min(WAVE, settings.limits.predecessors - looked.size))
    if (references.length === 0) break
    const stored = await bring(reading, snapshot, references, looked)
    if (stored > 0) await store.closeSnapshot(snapshot)
    brought += stored
  }
  return brought
}

async function bring(
  reading: Reading,
  snapshot: Snapshot,
  references: readonly string[],
  looked: Set<string>,
): Promise<number> {
  const { ted, store, settings } = reading
  const numbers: string[] = []
  for (const reference of references) {
    looked.add(reference)
    // Recorded for all; a reference whose notice arrives is removed.
    await store.missed(reference)
    const number = await numberOrNone(reading, reference)
    if (number !== undefined) numbers.push(number)
  }
  let stored = 0
  for await (const item of renderedOf(ted, numbers, settings)) {
    if (!('xml' in item)) continue
    const { number, xml } = item
    const { outcome } = await store.accept({ xml, number, snapshot })
    if (outcome !== 'refused') stored++
  }
  return stored
}

/** Resolves a reference; one that the search refuses does not stop the others. */
async function numberOrNone(reading: Reading, reference: string): Promise<string | undefined> {
  try {
    return await numberOf(reading, reference)
  } catch (error) {
    if (!(error instanceof IngestFailure) || !OF_ONE_QUERY.has(error.reason)) throw error
    reading.log('tenders: a reference was not found', { reference, problem: problemOf(error) })
    return undefined
  }
}

const OF_ONE_QUERY: ReadonlySet<string> = new Set(['refused_query', 'bad_page', 'contradiction'])

/** Resolves a reference to a publication number, by UUID and version if needed. */
async function numberOf({ ted }: Reading, reference: string): Promise<string | undefined> {
  const [, uuid, version] = /^([0-9a-f-]{36})-(\d{2})$/.exec(reference) ?? []
  if (uuid === undefined) return reference
  const { hits } = await ted.search(noticeQuery(uuid))
  const hit = hits.find((candidate) => Number(candidate.version) === Number(version))
  // If the search returns no versions, a single notice is the match.
  return (hit ?? (hits.length === 1 && hits[0]?.version === null ? hits[0] : undefined))?.number
}
