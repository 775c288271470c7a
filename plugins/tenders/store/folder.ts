import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, type Database, Refusal } from 'agenthub/plugin'
import type { Notice } from '../model.ts'
import { readHits } from '../parse/search-hit.ts'
import { Unreadable } from '../parse/xml.ts'
import { closeSnapshots, openSnapshot } from './snapshots.ts'
import { keep, noteRefusal, type Refused, readOrRefuse } from './store.ts'
import type { Snapshot } from './types.ts'

/** Result of reading a folder. */
export interface Loaded {
  readonly stored: number
  readonly replaced: number
  readonly unchanged: number
  readonly refused: readonly { file: string; reason: string; detail: string }[]
  /** Number of notices published after the requested day. */
  readonly later: number
  readonly days: number
}

const FILES_MAX = 200_000
const BYTES_MAX = 32 * 1_048_576
const DEPTH_MAX = 4

/** Reads notices published by `until`, each on its day. @throws Refusal if there is no folder */
export async function loadFolder(
  database: Database,
  clock: Clock,
  folder: string,
  until?: string,
): Promise<Loaded> {
  const days = new Map<string, Snapshot>()
  const counts = { stored: 0, replaced: 0, unchanged: 0 }
  const refused: { file: string; reason: string; detail: string }[] = []
  let later = 0
  for (const file of await filesIn(folder, DEPTH_MAX)) {
    const { sha256, read } = await readFrom(file)
    for (const each of read) {
      if ('outcome' in each) {
        await noteRefusal(database, each, { sha256, source: 'folder', at: clock.now() })
        refused.push({ file, reason: each.reason, detail: each.detail })
        continue
      }
      const { publishedOn: day, ojs } = each
      if (until !== undefined && day > until) {
        later += 1
        continue
      }
      const order = { day, ojs, source: 'folder' } as const
      const snapshot = days.get(day) ?? (await openSnapshot(database, order, clock.now()))
      days.set(day, snapshot)
      const kept = await keep(database, each, { sha256, snapshot })
      if (kept.outcome !== 'refused') counts[kept.outcome] += 1
    }
  }
  if (days.size > 0) await closeSnapshots(database, [...days.values()], clock.now())
  return { ...counts, refused, later, days: days.size }
}

async function readFrom(file: string): Promise<{ sha256: Buffer; read: (Notice | Refused)[] }> {
  const hash = (content: Uint8Array | string) => createHash('sha256').update(content).digest()
  const { size } = await stat(file)
  if (size > BYTES_MAX) return { sha256: hash(file), read: [refusal('too_large', `${size} bytes`)] }
  const content = await readFile(file)
  const sha256 = hash(content)
  if (!file.endsWith('.json')) return { sha256, read: [readOrRefuse(content, undefined)] }
  try {
    return { sha256, read: readHits(content.toString('utf8')) }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return { sha256, read: [refusal(error.reason, error.message)] }
  }
}

const refusal = (reason: string, detail: string): Refused => ({
  outcome: 'refused',
  number: undefined,
  reason,
  detail,
})

async function filesIn(folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: Error) => {
    throw new Refusal('no_folder', `${folder} cannot be read: ${error.message}`)
  })
  const files: string[] = []
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && depth > 0) files.push(...(await filesIn(path, depth - 1)))
    if (entry.isFile() && /\.(xml|json)$/i.test(entry.name)) files.push(path)
    if (files.length > FILES_MAX) throw new Refusal('too_many', `more than ${FILES_MAX} files`)
  }
  return files
}
