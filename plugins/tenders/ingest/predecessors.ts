import type { Snapshot, Wanted } from '../store/types.ts'
import type { Reading } from './day.ts'
import { renderedOf } from './rendered.ts'
import { noticeQuery } from './search.ts'

/** A notice that was looked for so often in vain, in two weeks, is not looked for any more. */
const ATTEMPTS_MAX = 6
/** Before it is looked for the second time; four times as long each time. */
const AGAIN_MS = 900_000
const WAVE = 100
const MANY = 10_000

const isDue = ({ attempts, askedAt }: Wanted, now: Date): boolean =>
  attempts < ATTEMPTS_MAX &&
  (askedAt === null || now.getTime() - askedAt.getTime() >= AGAIN_MS * 4 ** (attempts - 1))

/**
 * Brings the notices that change notices refer to and that are not held: without them there is no
 * value from before. What they refer to follows, to a depth and a number that are limited.
 * @returns how many came; the snapshot shows them
 */
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
    const number = await numberOf(reading, reference)
    // Noted for all: where it comes, and is what was referred to, the reference is wanted no more.
    await store.missed(reference)
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

/** The number of a reference: itself, or that of the version of a notice, by its UUID. */
async function numberOf({ ted }: Reading, reference: string): Promise<string | undefined> {
  const [, uuid, version] = /^([0-9a-f-]{36})-(\d{2})$/.exec(reference) ?? []
  if (uuid === undefined) return reference
  const { hits } = await ted.search(noticeQuery(uuid))
  const hit = hits.find((candidate) => Number(candidate.version) === Number(version))
  // Where the search does not tell versions, a single notice is the one.
  return (hit ?? (hits.length === 1 && hits[0]?.version === null ? hits[0] : undefined))?.number
}
