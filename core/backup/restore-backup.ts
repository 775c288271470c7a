import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { access, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { extract } from 'tar-stream'
import { type ClusterLocation, findClusterLocation } from '../db/cluster-location.ts'
import { ConfigError } from '../runtime/config-error.ts'
import { type BackupStore, newestBackup } from './backup-store.ts'
import { writeDataFile } from './data-files.ts'
import { type BackupKeys, MANIFEST, type Manifest, readManifest } from './manifest.ts'
import { readParts } from './sealed-parts.ts'

const run = promisify(execFile)

export interface RestoreDeps {
  readonly store: BackupStore
  /** @defaultValue the newest complete backup */
  readonly name?: string | undefined
  readonly passphrase: string
}

export interface RestoredBackup {
  readonly manifest: Manifest
  readonly dataDir: string
  readonly location: ClusterLocation
}

/** Files that Debian stores outside of the cluster, and without which it cannot start. */
const MISSING_CONFIGURATION = {
  'postgresql.conf': '',
  'pg_hba.conf':
    'local all all peer\nhost all all 127.0.0.1/32 scram-sha-256\n' +
    'host all all ::1/128 scram-sha-256\n',
  'pg_ident.conf': '',
} as const

/**
 * Restores a backup into a new data directory. Nothing else is changed, and a restore that fails
 * leaves nothing. The cluster gets its name last: an interrupted restore has no database to start.
 * @throws ConfigError if the directory is not empty, the passphrase is wrong, or the backup is
 * incomplete or was altered
 */
export async function restoreBackup(
  { store, passphrase, ...deps }: RestoreDeps,
  target: string,
): Promise<RestoredBackup> {
  const dataDir = resolve(target)
  await assertEmpty(dataDir)
  const name = deps.name ?? (await newestBackup(store))
  const text = await store.get(`${name}/${MANIFEST}`).catch((cause: Error) => {
    throw new ConfigError(`${store.place}/${name} is no complete backup: it has no manifest.`, {
      cause,
    })
  })
  const { manifest, keys } = await readManifest(text, passphrase)
  await mkdir(dataDir, { recursive: true, mode: 0o711 })
  const location = await findClusterLocation(dataDir, () => {})
  const work = await claimDirectory(dataDir, location)
  try {
    await readParts(manifest.parts.files, { store, key: keys.seal }, (archive) =>
      forEachFile(archive, async ({ path }, content) =>
        writeDataFile(within(dataDir, path), await buffer(content)),
      ),
    )
    await restoreCluster(manifest, { store, keys, work }, location)
    return { manifest, dataDir, location }
  } catch (error) {
    await removeRestored({ dataDir, location })
    throw describeFailure(error as NodeJS.ErrnoException, dataDir)
  }
}

/** Removes what a restore has written. */
export async function removeRestored({
  dataDir,
  location: { cluster, entry },
}: Pick<RestoredBackup, 'dataDir' | 'location'>): Promise<void> {
  if (cluster !== entry) await rm(dirname(cluster), { recursive: true, force: true })
  await rm(dataDir, { recursive: true, force: true })
}

async function assertEmpty(dataDir: string): Promise<void> {
  const found = await readdir(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new ConfigError(`${dataDir} cannot be used: ${error.message}.`, { cause: error })
  })
  if (found.length > 0) throw notEmpty(dataDir)
}

const notEmpty = (dataDir: string): ConfigError =>
  new ConfigError(`${dataDir} is not empty. Restore into a new directory.`)

/** Creates the folder in which the cluster is unpacked. @throws ConfigError for a second restore */
async function claimDirectory(dataDir: string, { cluster }: ClusterLocation): Promise<string> {
  const work = `${cluster}.new`
  await mkdir(work, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? notEmpty(dataDir) : error
  })
  return work
}

function describeFailure(error: NodeJS.ErrnoException, dataDir: string): Error {
  if (error.code !== 'ENOSPC' && error.code !== 'EDQUOT') return error
  return new ConfigError(`The disk of ${dataDir} is full: what was restored has been removed.`, {
    cause: error,
  })
}

async function restoreCluster(
  manifest: Manifest,
  {
    store,
    keys,
    work,
  }: { readonly store: BackupStore; readonly keys: BackupKeys; readonly work: string },
  { cluster, entry, user }: ClusterLocation,
): Promise<void> {
  await readParts(manifest.parts.database, { store, key: keys.seal }, (archive) =>
    forEachFile(
      archive,
      async ({ path, mode }, content) => {
        const file = within(work, path)
        await pipeline(content, createWriteStream(file, { mode, flags: 'wx' }))
      },
      async (path) => void (await mkdir(within(work, path), { recursive: true, mode: 0o700 })),
    ),
  )
  for (const [name, text] of Object.entries(MISSING_CONFIGURATION)) {
    const file = join(work, name)
    await access(file).catch(() => writeFile(file, text, { mode: 0o600 }))
  }
  if (user) await run('chown', ['-R', `${user.uid}:${user.gid}`, work])
  await rename(work, cluster)
  if (cluster !== entry) await symlink(cluster, entry)
}

interface Entry {
  readonly path: string
  readonly mode: number
}

/** Calls `onFile` for each file of a tar archive, in its order. */
async function forEachFile(
  archive: AsyncIterable<Buffer>,
  onFile: (entry: Entry, content: Readable) => Promise<void>,
  onFolder: (path: string) => Promise<void> = async () => {},
): Promise<void> {
  const reader = extract()
  const read = async (): Promise<void> => {
    for await (const entry of reader) {
      const { name: path, mode, type } = entry.header
      if (type === 'directory') await onFolder(path)
      else if (type === 'file') {
        await onFile({ path, mode: mode ?? 0o600 }, entry as unknown as Readable)
      } else throw new ConfigError(`The backup has ${path}, which is no file.`)
      entry.resume()
    }
  }
  const [written, fed] = await Promise.allSettled([read(), pipeline(archive, reader)])
  if (written.status === 'rejected') throw written.reason
  if (fed.status === 'rejected') throw fed.reason
}

/** Resolves a path of an archive. @throws ConfigError if it leads outside of `folder` */
function within(folder: string, path: string): string {
  const file = resolve(folder, path)
  if (file === folder || file.startsWith(folder + sep)) return file
  throw new ConfigError(`The backup has the path ${path}, outside of its folder.`)
}
