import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { importRows } from './discovery/import.ts'
import { type OriginReading, readOrigin, type Target } from './discovery/origin.ts'
import { openSource } from './discovery/sources.ts'
import { type Examination, type ExaminePorts, examine } from './examine.ts'
import { recordProbe } from './probe/record.ts'
import { listingId, type Rank } from './store.ts'

/** What became of a URL that was looked at. */
export interface Submitted {
  readonly examination: Examination
  /** Its listing; undefined when it was refused. */
  readonly id: string | undefined
}

/** Who names a URL, and what his words count. */
export interface Namer {
  readonly source: string
  readonly rank: Rank
  readonly pass?: number
  /** Stands before what the source calls a URL. */
  readonly prefix?: string
}

/** Looks at a URL and lists it, active at once, or keeps the reason why not. */
export async function submit(
  ports: ExaminePorts,
  target: Target,
  namer: Namer,
): Promise<Submitted> {
  const examination = await examine(ports, target)
  await keep(ports.pool, target, examination, namer)
  const { candidate, probed } = examination
  if (!candidate || !probed) return { examination, id: undefined }
  const id = listingId(candidate.method, candidate.url)
  await recordProbe(ports.pool, id, probed, Math.random())
  return { examination, id }
}

function keep(
  pool: Pool,
  target: Target,
  examination: Examination,
  namer: Namer,
): Promise<unknown> {
  const { url, method, reason, candidate } = examination
  const judged = candidate ? { candidate } : { reason: reason ?? 'no_offer' }
  const key = `${namer.prefix ?? ''}${method ?? '*'} ${url}`.toWellFormed().replaceAll('\0', '')
  const row = { key, raw: { url: target.url, method: target.method }, judged }
  const { source, rank, pass = 1 } = namer
  return inTransaction(pool, (client) => importRows(client, source, rank, [row], pass))
}

/** How many resources of an origin are looked at while its owner waits; the rest follows. */
const AT_ONCE = 10

export interface SubmittedOrigin {
  readonly reading: OriginReading
  readonly submitted: readonly Submitted[]
  /** Resources that the job looks at later. */
  readonly queued: number
}

/** The source that an origin is. */
export const originSource = (origin: string): string => `origin:${origin}`

/**
 * Registers an origin: its documents are read now and every day, and the first of its resources
 * are looked at now.
 */
export async function submitOrigin(
  ports: ExaminePorts,
  origin: string,
  namer: Namer,
): Promise<SubmittedOrigin> {
  const reading = await readOrigin(ports.egress, origin, ports.rules)
  const submitted: Submitted[] = []
  for (const target of reading.targets.slice(0, AT_ONCE)) {
    submitted.push(await submit(ports, target, namer))
  }
  if (submitted.some(({ id }) => id !== undefined)) {
    await openSource(ports.pool, originSource(origin))
  }
  return { reading, submitted, queued: Math.max(0, reading.targets.length - AT_ONCE) }
}

/** Looks at an origin without writing anything. */
export async function examineOrigin(ports: ExaminePorts, origin: string) {
  const reading = await readOrigin(ports.egress, origin, ports.rules)
  const examinations: Examination[] = []
  for (const target of reading.targets.slice(0, AT_ONCE)) {
    examinations.push(await examine(ports, target))
  }
  return { reading, examinations }
}
