import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import type { Pool } from 'pg'
import { IdSet } from './id-set.ts'
import {
  type AccountBalance,
  countEntries,
  type ExportOrder,
  type ExportPlan,
  planExport,
} from './plan.ts'
import { type ExportPosition, type FormatName, writeExport } from './writer.ts'

/** The export cannot be resumed; the message says why. */
export class NotResumable extends Error {
  override readonly name = 'NotResumable'
}

export interface FileOptions {
  readonly format: FormatName
  readonly order: ExportOrder
  readonly opening?: readonly AccountBalance[] | undefined
  /** True to continue an interrupted export of the same order. */
  readonly resume: boolean
  /** Called periodically with the entries written and an upper bound of their total. */
  readonly progress?: (done: number, total: number) => void
  /** Bytes between save points: rewritten after a crash, at most. @defaultValue 16 MiB */
  readonly saveEveryBytes?: number
}

/** State stored beside an unfinished file: enough to resume it with identical bytes. */
interface Sidecar {
  readonly format: FormatName
  readonly order: string
  readonly plan: ExportPlan
  readonly bytes: number
  readonly position: ExportPosition
  readonly declared: ReturnType<IdSet['toJSON']>
}

const SAVE_EVERY_BYTES = 16 * 1024 * 1024

/**
 * Writes an export to a file, which appears when it is complete. Until then FILE.part and
 * FILE.part.json hold the progress and survive a crash.
 * @returns the number of entries
 * @throws NotResumable
 */
export async function exportToFile(
  pool: Pool,
  file: string,
  options: FileOptions,
): Promise<number> {
  const { format, order, opening, resume, progress, saveEveryBytes = SAVE_EVERY_BYTES } = options
  const part = `${file}.part`
  const sidecarFile = `${part}.json`
  const known = resume ? await readSidecar(sidecarFile, options) : undefined
  const plan = known?.plan ?? (await planExport(pool, order))
  const total = Number(countEntries(plan))
  const handle = await open(part, known ? 'r+' : 'w')
  const declared = new IdSet(known?.declared)
  let bytes = known?.bytes ?? 0
  let saved = bytes
  let entries = known?.position.entries ?? 0
  try {
    await handle.truncate(bytes)
    const resume = known?.position
    for await (const piece of writeExport(pool, format, plan, { declared, resume, opening })) {
      bytes += await writeFully(handle, Buffer.from(piece.text), bytes)
      const { position } = piece
      if (!position) continue
      entries = position.entries
      progress?.(entries, total)
      if (bytes - saved < saveEveryBytes) continue
      await handle.sync()
      const names = { format, order: orderKey(order), plan }
      await saveSidecar(sidecarFile, { ...names, bytes, position, declared: declared.toJSON() })
      saved = bytes
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(part, file)
  await rm(sidecarFile, { force: true })
  return entries
}

/** Writes all bytes: a nearly full disk accepts fewer per call. */
async function writeFully(handle: FileHandle, data: Buffer, at: number): Promise<number> {
  for (let done = 0; done < data.length; ) {
    const { bytesWritten } = await handle.write(data, done, data.length - done, at + done)
    done += bytesWritten
  }
  return data.length
}

/** Replaces the sidecar atomically: a crash leaves the old one or the new one. */
async function saveSidecar(file: string, sidecar: Sidecar): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(sidecar), { flush: true })
  await rename(`${file}.new`, file)
}

async function readSidecar(file: string, { format, order }: FileOptions): Promise<Sidecar> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) throw new NotResumable(`there is no ${file}: nothing to resume`)
  const sidecar = JSON.parse(text) as Sidecar
  if (sidecar.format !== format || sidecar.order !== orderKey(order)) {
    throw new NotResumable('the file was started with other options: use them, or start over')
  }
  return sidecar
}

const orderKey = (order: ExportOrder): string =>
  JSON.stringify(order, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
