import { open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import type { Pool } from 'pg'
import { FORMATS, type FormatName, type Resumption, writeExport } from './index.ts'
import { type Closing, type ExportOrder, type ExportPlan, planExport } from './plan.ts'

/** It cannot go on where the file ends; the message says why. */
export class NotResumable extends Error {
  override readonly name = 'NotResumable'
}

export interface FileExport {
  readonly format: FormatName
  readonly order: ExportOrder
  readonly opening?: readonly Closing[] | undefined
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
  readonly position: Resumption
}

const SAVE_EVERY_BYTES = 16 * 1024 * 1024

/**
 * Writes an export to a file, which appears when it is whole. Until then FILE.part and FILE.part.json
 * hold what there is, and survive a crash.
 * @returns how many entries it has
 * @throws NotResumable
 */
export async function exportToFile(pool: Pool, file: string, wanted: FileExport): Promise<number> {
  const { format, order, opening, resume, progress, saveEveryBytes = SAVE_EVERY_BYTES } = wanted
  const part = `${file}.part`
  const note = `${part}.json`
  const known = resume ? await readSidecar(note, wanted) : undefined
  const plan = known?.plan ?? (await planExport(pool, order, FORMATS[format].closes))
  const total = countOf(plan)
  const handle = await open(part, known ? 'r+' : 'w')
  const declared = new Set(known?.position.declared)
  let bytes = known?.bytes ?? 0
  let saved = bytes
  let entries = 0
  try {
    await handle.truncate(bytes)
    for await (const piece of writeExport(pool, format, plan, {
      resume: known?.position,
      opening,
    })) {
      const data = Buffer.from(piece.text)
      await handle.write(data, 0, data.length, bytes)
      bytes += data.length
      entries = piece.position.entries
      for (const id of piece.declared) declared.add(id)
      progress?.(entries, total)
      if (bytes - saved < saveEveryBytes || piece.position.entries === 0) continue
      await handle.sync()
      const position = { ...piece.position, declared: [...declared] }
      await save(note, { format, order: nameOf(order), plan, bytes, position })
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

const countOf = ({ spans }: ExportPlan): number =>
  spans.reduce((sum, { from, to }) => sum + Math.max(0, Number(BigInt(to) - BigInt(from)) + 1), 0)
