import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import type { Pool } from 'pg'
import { IdSet } from './id-set.ts'
import { type FormatName, type Position, writeExport } from './index.ts'
import {
  type AccountBalance,
  type ExportOrder,
  type ExportPlan,
  entriesOf,
  planExport,
} from './plan.ts'

/** It cannot go on where the file ends; the message says why. */
export class NotResumable extends Error {
  override readonly name = 'NotResumable'
}

export interface FileExport {
  readonly format: FormatName
  readonly order: ExportOrder
  readonly opening?: readonly AccountBalance[] | undefined
  /** Goes on with what an export of the same order, which was cut off, has left. */
  readonly resume: boolean
  /** Told now and then how many entries are written, of at most how many. */
  readonly progress?: (done: number, total: number) => void
  /** So much may have to be written again after a crash. @defaultValue 16 MiB */
  readonly saveEveryBytes?: number
}

/** What stands beside an unfinished file: enough to go on, byte for byte. */
interface Sidecar {
  readonly format: FormatName
  readonly order: string
  readonly plan: ExportPlan
  readonly bytes: number
  readonly position: Position
  readonly declared: ReturnType<IdSet['toJSON']>
}

const SAVE_EVERY_BYTES = 16 * 1024 * 1024

/**
 * Writes an export to a file, which appears when it is whole. Until then FILE.part and
 * FILE.part.json hold what there is, and survive a crash.
 * @returns how many entries it has
 * @throws NotResumable
 */
export async function exportToFile(pool: Pool, file: string, wanted: FileExport): Promise<number> {
  const { format, order, opening, resume, progress, saveEveryBytes = SAVE_EVERY_BYTES } = wanted
  const part = `${file}.part`
  const note = `${part}.json`
  const known = resume ? await readSidecar(note, wanted) : undefined
  const plan = known?.plan ?? (await planExport(pool, order))
  const total = Number(entriesOf(plan))
  const handle = await open(part, known ? 'r+' : 'w')
  const declared = new IdSet(known?.declared)
  let bytes = known?.bytes ?? 0
  let saved = bytes
  let entries = known?.position.entries ?? 0
  try {
    await handle.truncate(bytes)
    const resume = known?.position
    for await (const piece of writeExport(pool, format, plan, { declared, resume, opening })) {
      bytes += await append(handle, Buffer.from(piece.text), bytes)
      const { position } = piece
      if (!position) continue
      entries = position.entries
      progress?.(entries, total)
      if (bytes - saved < saveEveryBytes) continue
      await handle.sync()
      const names = { format, order: nameOf(order), plan }
      await save(note, { ...names, bytes, position, declared: declared.toJSON() })
      saved = bytes
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(part, file)
  await rm(note, { force: true })
  return entries
}

/** Writes all of it: a disk that is nearly full takes less at a time. */
async function append(handle: FileHandle, data: Buffer, at: number): Promise<number> {
  for (let done = 0; done < data.length; ) {
    const { bytesWritten } = await handle.write(data, done, data.length - done, at + done)
    done += bytesWritten
  }
  return data.length
}

/** Replaces the note at once: a crash leaves the old one or the new one. */
async function save(note: string, sidecar: Sidecar): Promise<void> {
  await writeFile(`${note}.new`, JSON.stringify(sidecar), { flush: true })
  await rename(`${note}.new`, note)
}

async function readSidecar(note: string, { format, order }: FileExport): Promise<Sidecar> {
  const text = await readFile(note, 'utf8').catch(() => undefined)
  if (text === undefined) throw new NotResumable(`there is no ${note}: nothing to go on with`)
  const sidecar = JSON.parse(text) as Sidecar
  if (sidecar.format !== format || sidecar.order !== nameOf(order)) {
    throw new NotResumable('the file was begun with other options: use those, or begin anew')
  }
  return sidecar
}

const nameOf = (order: ExportOrder): string =>
  JSON.stringify(order, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
