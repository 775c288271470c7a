import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { Refusal } from 'agenthub/plugin'
import { archivedFiles } from './archive.ts'

/** A file of a folder, or of an archive in it. */
export interface FolderFile {
  readonly file: string
  /** Its content, or the reason why it cannot be read; undefined for a file of another type. */
  readonly content: Buffer | { readonly reason: string; readonly detail: string } | undefined
}

const FILES_MAX = 200_000
const BYTES_MAX = 32 * 1_048_576
const DEPTH_MAX = 64
const GIB = 2 ** 30
/** A monthly package has about 5 GB. */
const LIMITS = { unpacked: 32 * GIB, members: FILES_MAX }

const DOCUMENT = /\.(?:xml|json)$/i
const ZIPPED = /\.(?:xml|json)\.gz$/i
const ARCHIVE = /\.(?:tar|tar\.gz|tgz)$/i
const unzipped = promisify(gunzip)

/** Reads all files in a folder and its archives. @throws Refusal if there is no such folder */
export async function* filesOf(folder: string): AsyncGenerator<FolderFile> {
  const found = await stat(folder).catch((error: Error) => {
    throw new Refusal('no_folder', `${folder} cannot be read: ${error.message}`)
  })
  let count = 0
  const files = found.isDirectory() ? filesBelow(folder, DEPTH_MAX) : [{ file: folder }]
  for await (const each of files) {
    if (++count > FILES_MAX) throw new Refusal('too_many', `more than ${FILES_MAX} files`)
    if ('content' in each) yield each
    else if (ARCHIVE.test(each.file)) yield* archived(each.file)
    else yield { file: each.file, content: await contentOf(each.file) }
  }
}

async function* filesBelow(
  folder: string,
  depth: number,
): AsyncGenerator<FolderFile | { readonly file: string }> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(unreadable)
  if (!Array.isArray(entries)) return yield { file: folder, content: entries }
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (depth > 0) yield* filesBelow(path, depth - 1)
      else yield { file: path, content: { reason: 'too_deep', detail: `${DEPTH_MAX} folders` } }
    } else yield entry.isFile() ? { file: path } : { file: path, content: undefined }
  }
}

const unreadable = (error: unknown) => ({ reason: 'unreadable', detail: String(error) })
const tooLarge = (size: number) => ({ reason: 'too_large', detail: `${size} bytes` })

async function contentOf(file: string): Promise<FolderFile['content']> {
  if (!DOCUMENT.test(file) && !ZIPPED.test(file)) return undefined
  try {
    const { size } = await stat(file)
    if (size > BYTES_MAX) return tooLarge(size)
    const content = await readFile(file)
    return ZIPPED.test(file) ? await unzipped(content, { maxOutputLength: BYTES_MAX }) : content
  } catch (error) {
    return unreadable(error)
  }
}

async function* archived(archive: string): AsyncGenerator<FolderFile> {
  const others: FolderFile[] = []
  const wants = ({ name, size, isFile }: { name: string; size: number; isFile: boolean }) => {
    const isWanted = isFile && DOCUMENT.test(name)
    if (isWanted && size <= BYTES_MAX) return true
    const content = isWanted ? tooLarge(size) : undefined
    if (isFile) others.push({ file: join(archive, name), content })
    return false
  }
  const isZipped = !/\.tar$/i.test(archive)
  try {
    const files = archivedFiles(createReadStream(archive), LIMITS, { wants, isZipped })
    for await (const { name, content } of files) yield { file: join(archive, name), content }
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    yield { file: archive, content: { reason: 'bad_package', detail } }
  }
  yield* others
}
