import { randomUUID } from 'node:crypto'
import { chmod, chown, mkdir, readdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { SHARED_HOME } from '../db/cluster-location.ts'
import { processStartTime } from '../db/lock.ts'
import { canEnter, type UnixUser } from '../runtime/user.ts'

/** Folder of browsers and their profiles, and the user that runs them. */
export interface BrowserHome {
  readonly folder: string
  /** Unprivileged user if the hub runs as root: browsers run untrusted code. */
  readonly user: UnixUser | undefined
  /** True if `/dev/shm` has enough room for pages; in containers it usually has 64 MB. */
  readonly sharedMemory: boolean
}

const SHARED_MEMORY = '/dev/shm'
const SHARED_MEMORY_MIN = 2 * 1_073_741_824

/** User that owns no files, so that a page that escapes the browser can read nothing. */
const NOBODY: UnixUser = { name: '65533', uid: 65_533, gid: 65_533 }

/** Creates the folder; as root, uses a shared one if the unprivileged user cannot enter it. */
export async function prepareBrowserHome(folder: string): Promise<BrowserHome> {
  await mkdir(folder, { recursive: true, mode: 0o711 })
  const sharedMemory = await hasSharedMemory()
  if (process.getuid?.() !== 0) return { folder, user: undefined, sharedMemory }
  await chmod(folder, 0o711)
  if (await canEnter(NOBODY, folder)) return { folder, user: NOBODY, sharedMemory }
  const shared = join(SHARED_HOME, 'browser')
  await mkdir(shared, { recursive: true, mode: 0o755 })
  return { folder: shared, user: NOBODY, sharedMemory }
}

async function hasSharedMemory(): Promise<boolean> {
  const { bavail, bsize } = await statfs(SHARED_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize >= SHARED_MEMORY_MIN
}

/** Creates a profile whose name identifies this process, for `sweepProfiles`. */
export async function createProfile({ folder, user }: BrowserHome): Promise<string> {
  const owner = `${process.pid}-${await processStartTime(process.pid)}`
  const profile = join(folder, `profile-${owner}-${randomUUID()}`)
  await mkdir(profile, { mode: 0o700 })
  if (user) await chown(profile, user.uid, user.gid)
  return profile
}

/** Removes profiles of dead processes. */
export async function sweepProfiles({ folder }: BrowserHome): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid = '', start] = /^profile-(\d+)-([^-]*)-/.exec(name) ?? []
    if (start === undefined || start === (await processStartTime(Number(pid)))) continue
    await rm(join(folder, name), { recursive: true, force: true })
  }
}
