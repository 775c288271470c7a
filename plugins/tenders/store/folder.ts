import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, type Database, Refusal } from 'agenthub/plugin'
import { closeSnapshots, openSnapshot } from './snapshots.ts'
import { keep, noteRefusal, readOrRefuse } from './store.ts'
import type { Snapshot } from './types.ts'

/** What came of a folder. */
export interface Loaded {
  readonly stored: number
  readonly replaced: number
  readonly unchanged: number
  readonly refused: readonly { file: string; reason: string; detail: string }[]
  /** Published after the day that was asked for. */
  readonly later: number
  readonly days: number
}

const FILES_MAX = 200_000
const BYTES_MAX = 32 * 1_048_576
const DEPTH_MAX = 4

/**
 * Reads all notices of a folder (`*.xml`, eForms or TED XML), as if they had been published now,
 * each on its day, and shows them at once.
 * @param until the last day of publication that counts
 * @throws Refusal when there is no such folder
 */
export async function loadFolder(
  database: Database,
  clock: Clock,
  folder: string,
  until?: string,
): Promise<Loaded> {
  const files = await filesIn(folder, DEPTH_MAX)
  const days = new Map<string, Snapshot>()
  const counts = { stored: 0, replaced: 0, unchanged: 0 }
  const refused: { file: string; reason: string; detail: string }[] = []
  let later = 0
  for (const file of files) {
    const xml = (await stat(file)).size > BYTES_MAX ? undefined : await readFile(file)
    const sha256 = createHash('sha256')
      .update(xml ?? file)
      .digest()
    const read = xml
      ? readOrRefuse(xml, undefined)
      : ({ outcome: 'refused', number: undefined, reason: 'too_large', detail: file } as const)
    if ('outcome' in read) {
      await noteRefusal(database, read, { sha256, source: 'folder', at: clock.now() })
      refused.push({ file, reason: read.reason, detail: read.detail })
      continue
    }
    const { publishedOn: day, ojs } = read
    if (until !== undefined && day > until) {
      later += 1
      continue
    }
    const snapshot =
      days.get(day) ?? (await openSnapshot(database, { day, ojs, source: 'folder' }, clock.now()))
    days.set(day, snapshot)
    const kept = await keep(database, read, { sha256, snapshot })
    if (kept.outcome !== 'refused') counts[kept.outcome] += 1
  }
  if (days.size > 0) await closeSnapshots(database, [...days.values()], clock.now())
  return { ...counts, refused, later, days: days.size }
}

async function filesIn(folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: Error) => {
    throw new Refusal('no_folder', `${folder} cannot be read: ${error.message}`)
  })
  const files: string[] = []
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && depth > 0) files.push(...(await filesIn(path, depth - 1)))
    if (entry.isFile() && /\.xml$/i.test(entry.name)) files.push(path)
    if (files.length > FILES_MAX) throw new Refusal('too_many', `more than ${FILES_MAX} files`)
  }
  return files
}
