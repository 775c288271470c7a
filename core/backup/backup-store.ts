import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type BucketOptions, openBucket } from '../egress/bucket.ts'
import { ConfigError } from '../runtime/config-error.ts'
import { MANIFEST } from './manifest.ts'
import type { PartStore } from './sealed-parts.ts'

/** Folder or bucket with backups, each in a folder of its own. */
export interface BackupStore extends PartStore {
  /** Its address, for messages. */
  readonly place: string
  /** @throws ConfigError if a backup of that name exists, or the place cannot be written */
  create(name: string): Promise<void>
  /** Names of all backups that are complete, the oldest first. */
  list(): Promise<readonly string[]>
  /** Removes an incomplete backup. */
  discard(name: string): Promise<void>
  close(): void
}

const NAME = /^backup-\d{8}T\d{6}Z$/

/** Returns the name of a backup that starts now. */
export const backupName = (at: Date): string =>
  `backup-${at.toISOString().slice(0, 19).replaceAll('-', '').replaceAll(':', '')}Z`

/**
 * Opens the store of a place: a folder, or `s3://bucket/prefix`.
 * @returns also the name of a backup, if the place is one of a store
 */
export async function openStore(
  place: string,
  options: BucketOptions = {},
): Promise<{ readonly store: BackupStore; readonly name: string | undefined }> {
  const path = place.endsWith('/') ? place.slice(0, -1) : place
  const isBackup = NAME.test(basename(path))
  const root = isBackup ? path.slice(0, path.lastIndexOf('/') + 1) || '.' : path || '/'
  const store = root.startsWith('s3://')
    ? await bucketStore(root, options)
    : folderStore(resolve(root))
  return { store, name: isBackup ? basename(path) : undefined }
}

/** Returns the newest complete backup of a store. @throws ConfigError if there is none */
export async function newestBackup(store: BackupStore): Promise<string> {
  const newest = (await store.list()).at(-1)
  if (newest === undefined) throw new ConfigError(`There is no complete backup in ${store.place}.`)
  return newest
}

function folderStore(root: string): BackupStore {
  const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])
  return {
    place: root,
    async create(name) {
      try {
        await mkdir(root, { recursive: true, mode: 0o700 })
        await mkdir(join(root, name), { mode: 0o700 })
      } catch (cause) {
        const isTaken = (cause as NodeJS.ErrnoException).code === 'EEXIST'
        const why = isTaken ? 'it exists already' : (cause as Error).message
        throw new ConfigError(`${join(root, name)} cannot be created: ${why}.`, { cause })
      }
    },
    put: (path, bytes) => writeDurably(join(root, path), bytes),
    get: (path) => readFile(join(root, path)),
    async list() {
      const names = (await namesIn(root)).filter((name) => NAME.test(name)).sort()
      const contents = await Promise.all(names.map((name) => namesIn(join(root, name))))
      return names.filter((_, index) => contents[index]!.includes(MANIFEST))
    },
    discard: (name) => rm(join(root, name), { recursive: true, force: true }),
    close: () => {},
  }
}

/** Writes a file so that it survives a crash once this resolves. */
async function writeDurably(path: string, bytes: Buffer): Promise<void> {
  await using file = await open(`${path}.part`, 'wx', 0o600)
  await file.writeFile(bytes)
  await file.sync()
  await rename(`${path}.part`, path)
  await using folder = await open(dirname(path))
  await folder.sync()
}

async function bucketStore(root: string, options: BucketOptions): Promise<BackupStore> {
  const bucket = await openBucket(root, options)
  /** Names of the objects below a path. @throws ConfigError if the bucket cannot be listed */
  async function namesBelow(path: string): Promise<readonly string[]> {
    try {
      return await bucket.list(path)
    } catch (cause) {
      const { message, name } = cause as Error
      const why = `${message || name}. Check HUB_BACKUP_ENDPOINT, AWS_REGION and the credentials.`
      throw new ConfigError(`The bucket of ${root} cannot be listed: ${why}`, { cause })
    }
  }
  return {
    place: bucket.place,
    async create(name) {
      if ((await namesBelow(`${name}/`)).length === 0) return
      throw new ConfigError(`${root}/${name} cannot be created: it exists already.`)
    },
    put: (path, bytes) => bucket.put(path, bytes),
    async get(path) {
      const bytes = await bucket.get(path)
      if (bytes) return bytes
      throw new Error(`${bucket.place} has no object ${path}`)
    },
    async list() {
      const manifests = (await namesBelow('backup-')).filter((each) =>
        each.endsWith(`/${MANIFEST}`),
      )
      const names = manifests.map((each) => basename(dirname(each)))
      return names.filter((name) => NAME.test(name)).sort()
    },
    async discard(name) {
      for (const path of await namesBelow(`${name}/`)) await bucket.remove(path)
    },
    close: () => bucket.close(),
  }
}
