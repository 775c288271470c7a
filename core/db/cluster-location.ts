import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, mkdtemp, readFile, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { canEnter, type UnixUser } from '../runtime/user.ts'

/** Replacement folder when the unprivileged user cannot enter root's data directory. */
export const SHARED_HOME = '/var/lib/agenthub'

/** Location of a database cluster, and the user that runs it. */
export interface ClusterLocation {
  /** `<dataDir>/postgres`: the cluster, or a link to it. */
  readonly entry: string
  /** Folder of the cluster itself. */
  readonly cluster: string
  /** False until `initdb` has created it. */
  readonly exists: boolean
  /** User to run as if the hub runs as root, because PostgreSQL refuses to run as root. */
  readonly user: UnixUser | undefined
}

/**
 * Locates the cluster of `dataDir`, or chooses a location for a new one. If it has to be outside
 * the data directory, a link there leads to it on later starts.
 * @throws Error if the cluster belongs to another user or cannot be reached
 */
export async function findClusterLocation(
  dataDir: string,
  log: (text: string) => void,
): Promise<ClusterLocation> {
  const entry = join(dataDir, 'postgres')
  const root = process.getuid?.() === 0
  if (await lstat(entry).catch(() => undefined)) return locateExisting(entry, root)
  if (!root) return { entry, cluster: entry, exists: false, user: undefined }
  const user = await unprivilegedUser()
  if (await canEnter(user, dataDir)) return { entry, cluster: entry, exists: false, user }
  const cluster = join(await createSharedFolder(dataDir), 'postgres')
  log(`the database is stored in ${cluster}: its user ${user.name} cannot enter ${dataDir}`)
  return { entry, cluster, exists: false, user }
}

async function locateExisting(entry: string, root: boolean): Promise<ClusterLocation> {
  const cluster = await realpath(entry).catch((cause) => {
    const why = 'it may have been deleted. Remove the link to start with an empty database.'
    throw new Error(`The database that ${entry} points to cannot be reached; ${why}`, { cause })
  })
  const { uid, gid } = await stat(cluster)
  if (!root) {
    if (uid === process.getuid?.()) return { entry, cluster, exists: true, user: undefined }
    throw new Error(
      `The database in ${cluster} belongs to user ${uid}. Start the hub as that user or as root, ` +
        'or change the owner of the files with "chown -R".',
    )
  }
  const user = uid === 0 ? await unprivilegedUser() : { name: String(uid), uid, gid }
  if (await canEnter(user, cluster)) return { entry, cluster, exists: true, user }
  throw new Error(
    `User ${user.name}, who owns the database in ${cluster}, cannot enter that directory. ` +
      'Allow access to the directories above it (chmod o+x).',
  )
}

/** The user `postgres` if it exists, else `nobody`. */
async function unprivilegedUser(): Promise<UnixUser> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')
  for (const wanted of ['postgres', 'nobody']) {
    const [name, , uid, gid] = lines.find((line) => line.startsWith(`${wanted}:`))?.split(':') ?? []
    // macOS writes the identity of `nobody` as -2.
    if (name && uid && gid) return { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }
  }
  return { name: '65534', uid: 65_534, gid: 65_534 }
}

/** Creates a new folder for the cluster of `dataDir`, named by a hash of its path. */
async function createSharedFolder(dataDir: string): Promise<string> {
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 8)
  await mkdir(SHARED_HOME, { recursive: true, mode: 0o755 })
  const folder = await mkdtemp(join(SHARED_HOME, `${hash}-`))
  await chmod(folder, 0o711)
  return folder
}
