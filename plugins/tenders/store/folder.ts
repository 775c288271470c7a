import { hash } from 'node:crypto'
import { parse } from 'node:path'
import type { Clock, Database } from 'agenthub/plugin'
import type { Notice } from '../model.ts'
import { readHits } from '../parse/search-hit.ts'
import { numberOf } from '../parse/values.ts'
import { Unreadable } from '../parse/xml.ts'
import { type FolderFile, filesOf } from './folder-files.ts'
import { causeOf } from './set-aside.ts'
import { closeSnapshots, openSnapshot } from './snapshots.ts'
import { checkDate, type Refused, readOrRefuse, recordRefusal, storeOrRefuse } from './store.ts'
import type { Snapshot } from './types.ts'

/** Result of reading a folder. */
export interface LoadResult {
  readonly stored: number
  readonly replaced: number
  readonly unchanged: number
  readonly refused: readonly { file: string; reason: string; detail: string }[]
  /** Number of notices published after the requested day. */
  readonly later: number
  /** Number of files of other types. */
  readonly ignored: number
  readonly days: number
}

/** Reads notices published by `until`, each on its day. @throws Refusal if there is no folder */
export async function loadFolder(
  database: Database,
  clock: Clock,
  folder: string,
  until?: string,
): Promise<LoadResult> {
  const days = new Map<string, Snapshot>()
  const counts = { stored: 0, replaced: 0, unchanged: 0 }
  const refused: { file: string; reason: string; detail: string }[] = []
  let later = 0
  let ignored = 0
  const refuse = async (file: string, each: Refused, sha256: Buffer): Promise<void> => {
    const snapshot = { day: undefined, source: 'folder' } as const
    await recordRefusal(database, each, { sha256, snapshot, file, at: clock.now() })
    refused.push({ file, reason: each.reason, detail: each.detail })
  }
  for await (const { file, content } of filesOf(folder)) {
    if (content === undefined) ignored += 1
    for (const { sha256, read } of contentsOf(file, content)) {
      const dated = 'outcome' in read || until !== undefined ? read : checkDate(read, clock.now())
      if ('outcome' in dated) {
        await refuse(file, dated, sha256)
        continue
      }
      const { publishedOn: day, ojs } = dated
      if (until !== undefined && day > until) {
        later += 1
        continue
      }
      const order = { day, ojs, source: 'folder' } as const
      const snapshot = days.get(day) ?? (await openSnapshot(database, order, clock.now()))
      days.set(day, snapshot)
      const from = { sha256, snapshot, file, at: clock.now() }
      const result = await storeOrRefuse(database, dated, from)
      if (result.outcome === 'refused') refused.push({ file, ...result })
      else counts[result.outcome] += 1
    }
  }
  if (days.size > 0) await closeSnapshots(database, [...days.values()], clock.now())
  const aside = await notPublished(database)
  return { ...counts, refused: [...refused, ...aside], later, ignored, days: days.size }
}

/** Notices of folders that were read and stored, but could not be published. */
async function notPublished(database: Database): Promise<LoadResult['refused']> {
  const { rows } = await database.query<{ number: string; reason: string; detail: string }>(
    `SELECT number, reason, detail FROM refusal
     WHERE stage = 'publish' AND source = 'folder' ORDER BY number`,
  )
  return rows.map(({ number, ...why }) => ({ file: number, ...why }))
}

interface Content {
  readonly sha256: Buffer
  readonly read: Notice | Refused
}

const contentsOf = (file: string, content: FolderFile['content']): Content[] => {
  if (content === undefined) return []
  if (Buffer.isBuffer(content)) return noticesIn(file, content)
  return [{ sha256: hashOf(file), read: refusal(file, content.reason, content.detail) }]
}

/** Reads the notices of a file: one of XML, any number of a search result. */
function noticesIn(file: string, content: Buffer): Content[] {
  const sha256 = hashOf(content)
  try {
    if (!/\.json(?:\.gz)?$/i.test(file)) {
      const read = readOrRefuse(content, undefined, ANY_TIME)
      return [{ sha256, read: 'outcome' in read ? withNumber(read, file) : read }]
    }
    return readHits(content.toString('utf8')).map((hit, at) => ({
      sha256: hashOf(`${sha256.toString('hex')} ${at}`),
      read: hit instanceof Unreadable ? refusal(file, hit.reason, hit.message) : hit,
    }))
  } catch (error) {
    if (error instanceof Unreadable) {
      return [{ sha256, read: refusal(file, error.reason, error.message) }]
    }
    const { reason, detail, stack } = causeOf(error)
    return [{ sha256, read: { ...refusal(file, reason, detail), stack } }]
  }
}

const hashOf = (content: Uint8Array | string): Buffer => hash('sha256', content, 'buffer')

/** Dates of a folder are checked against the requested day instead. */
const ANY_TIME = new Date('9000-01-01T00:00:00Z')

const refusal = (file: string, reason: string, detail: string): Refused =>
  withNumber({ outcome: 'refused', stage: 'read', number: undefined, reason, detail }, file)

/** Takes the number from the name of the file, such as `657639-2023.xml`. */
const withNumber = (refused: Refused, file: string): Refused => ({
  ...refused,
  number: refused.number ?? numberOf(parse(file).name.replace('_', '-')),
})
