import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type BucketOptions, type ObjectHeaders, openBucket } from '../../egress/bucket.ts'

/** Place where the files of a log are published: a folder, or a bucket. */
export interface LogStore {
  readonly place: string
  /** Returns undefined if there is no such file. */
  read(path: string): Promise<Buffer | undefined>
  /** Writes a file so that readers see the earlier file or the whole new one. */
  write(path: string, content: Uint8Array): Promise<void>
  close(): void
}

/** Caching of tiles: whatever is at their path stays there. */
export const FOR_EVER = 'public, max-age=31536000, immutable'
const CHECKPOINT = { contentType: 'text/plain; charset=utf-8', cacheControl: 'no-cache' }

/** Headers of a file: tiles never change, checkpoints do. */
const headersOf = (path: string): ObjectHeaders =>
  path.endsWith('checkpoint')
    ? CHECKPOINT
    : { contentType: 'application/octet-stream', cacheControl: FOR_EVER }

/** Opens a folder, or `s3://bucket/prefix`. */
export async function openLogStore(place: string, options?: BucketOptions): Promise<LogStore> {
  if (!place.startsWith('s3://')) return folderStore(resolve(place))
  const bucket = await openBucket(place, options)
  return {
    place: bucket.place,
    read: (path) => bucket.get(path),
    write: (path, content) => bucket.put(path, content, headersOf(path)),
    close: () => bucket.close(),
  }
}

const folderStore = (folder: string): LogStore => ({
  place: folder,
  read: (path) =>
    readFile(join(folder, path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    }),
  async write(path, content) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(`${file}.part`, content)
    await rename(`${file}.part`, file)
  },
  close: () => {},
})
