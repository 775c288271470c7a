import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, mkdtemp, readFile, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { mayReach, type User } from '../runtime/user.ts'

/** What lies here instead when root's data directory is closed to the user of PostgreSQL. */
export const SHARED_HOME = '/var/lib/agenthub'

/** Where the cluster of a data directory lies, and who runs it. */
export interface Place {
  /** `<dataDir>/postgres`: the cluster, or a link to it when it lies elsewhere. */
  readonly entry: string
  /** The cluster itself. */
  readonly cluster: string
  /** False: `initdb` has not made it yet. */
  readonly exists: boolean
  /** PostgreSQL refuses to run as root: for a hub run by root, the user to run as. */
  readonly user: User | undefined
}

/**
 * Decides where the cluster of `dataDir` is or shall be. The cluster is a link in the data
 * directory when it has to lie elsewhere, so that later starts find it whatever its location was
 * decided by. Throws when the cluster belongs to another user or cannot be reached.
 */
export async function findPlace(dataDir: string, log: (text: string) => void): Promise<Place> {
  const entry = join(dataDir, 'postgres')
  const root = process.getuid?.() === 0
  if (await lstat(entry).catch(() => undefined)) return existing(entry, root)
  if (!root) return { entry, cluster: entry, exists: false, user: undefined }
  const user = await unprivileged()
  if (await mayReach(user, dataDir)) return { entry, cluster: entry, exists: false, user }
  const cluster = join(await elsewhere(dataDir), 'postgres')
  log(`the database goes to ${cluster}: user ${user.name}, who runs it, cannot enter ${dataDir}`)
  return { entry, cluster, exists: false, user }
}

async function existing(entry: string, root: boolean): Promise<Place> {
  const cluster = await realpath(entry).catch((cause) => {
    const why = 'it may have been deleted. Remove the link to start with an empty database.'
    throw new Error(`The database that ${entry} points to cannot be reached; ${why}`, { cause })
  })
  const { uid, gid } = await stat(cluster)
  if (!root) {
    if (uid === process.getuid?.()) return { entry, cluster, exists: true, user: undefined }
    throw new Error(
      `The database in ${cluster} belongs to user ${uid}. Start the hub as that user or as root, ` +
        'or give the files to yourself with "chown -R".',
    )
  }
  const user = uid === 0 ? await unprivileged() : { name: String(uid), uid, gid }
  if (await mayReach(user, cluster)) return { entry, cluster, exists: true, user }
  throw new Error(
    `User ${user.name}, who owns the database in ${cluster}, cannot enter that directory. ` +
      'Let others pass through the directories above it (chmod o+x).',
  )
}

/** The user `postgres` where there is one, else `nobody`. */
async function unprivileged(): Promise<User> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')
  for (const wanted of ['postgres', 'nobody']) {
    const [name, , uid, gid] = lines.find((line) => line.startsWith(`${wanted}:`))?.split(':') ?? []
    // macOS writes the identity of `nobody` as -2.
    if (name && uid && gid) return { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }
  }
  return { name: '65534', uid: 65_534, gid: 65_534 }
}

/** A new directory for the cluster of `dataDir`, named after it and never used before. */
async function elsewhere(dataDir: string): Promise<string> {
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 8)
  await mkdir(SHARED_HOME, { recursive: true, mode: 0o755 })
  const folder = await mkdtemp(join(SHARED_HOME, `${hash}-`))
  await chmod(folder, 0o711)
  return folder
}
