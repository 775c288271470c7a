import type { MissingReference, Snapshot } from '../store/types.ts'
import type { Reading } from './day.ts'
import { IngestFailure, problemOf } from './failure.ts'
import { fetchRendered } from './rendered.ts'
import { noticeQuery } from './search.ts'

/** Attempts, over two weeks, after which a missing notice is given up. */
const ATTEMPTS_MAX = 6
/** Delay before the second attempt; quadruples each time. */
const RETRY_MS = 900_000
const BATCH = 100
const REFERENCES_MAX = 10_000

const isDue = ({ attempts, askedAt }: MissingReference, now: Date): boolean =>
  attempts < ATTEMPTS_MAX &&
  (askedAt === null || now.getTime() - askedAt.getTime() >= RETRY_MS * 4 ** (attempts - 1))

/** Fetches the notices that change notices refer to, because they have the old values. */
export async function fetchPredecessors(reading: Reading, snapshot: Snapshot): Promise<void> {
  const { store, settings, clock } = reading
  const tried = new Set<string>()
  for (let depth = 0; depth < settings.limits.depth; depth++) {
    const references = (await store.missingReferences(REFERENCES_MAX))
      .filter((missing) => isDue(missing, clock.now()) && !tried.has(missing.reference))
      .map(({ reference }) => reference)
      .slice(0, Math.min(BATCH, settings.limits.predecessors - tried.size))
    if (references.length === 0) return
    const stored = await fetchReferences(reading, snapshot, references, tried)
    if (stored > 0) await store.closeSnapshot(snapshot)
  }
}

async function fetchReferences(
  reading: Reading,
  snapshot: Snapshot,
  references: readonly string[],
  tried: Set<string>,
): Promise<number> {
  const { ted, store, settings } = reading
  const numbers: string[] = []
  for (const reference of references) {
    tried.add(reference)
    // Recorded for all; a reference whose notice arrives is removed.
    await store.recordAttempt(reference)
    const number = await numberOrNone(reading, reference)
    if (number !== undefined) numbers.push(number)
  }
  let stored = 0
  for await (const item of fetchRendered(ted, numbers, settings)) {
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
    if (!(error instanceof IngestFailure) || !QUERY_FAILURES.has(error.reason)) throw error
    reading.log('tenders: a reference was not found', { reference, problem: problemOf(error) })
    return undefined
  }
}

const QUERY_FAILURES: ReadonlySet<string> = new Set(['refused_query', 'bad_page', 'contradiction'])

/** Resolves a reference to a publication number, by UUID and version if needed. */
async function numberOf({ ted }: Reading, reference: string): Promise<string | undefined> {
  const [, uuid, version] = /^([0-9a-f-]{36})-(\d{2})$/.exec(reference) ?? []
  if (uuid === undefined) return reference
  const { hits } = await ted.search(noticeQuery(uuid))
  const hit = hits.find((candidate) => Number(candidate.version) === Number(version))
  // If the search returns no versions, a single notice is the match.
  return (hit ?? (hits.length === 1 && hits[0]?.version === null ? hits[0] : undefined))?.number
}
