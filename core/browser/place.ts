import { randomUUID } from 'node:crypto'
import { chmod, chown, mkdir, readdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { startOf } from '../db/lock.ts'
import { SHARED_HOME } from '../db/place.ts'
import { mayReach, type User } from '../runtime/user.ts'

/** Where browsers and their profiles lie, and who runs them. */
export interface Place {
  readonly home: string
  /** For a hub run by root: browsers run what strangers wrote, and never as root. */
  readonly user: User | undefined
  /** Whether `/dev/shm` has room for pages: that of a container has 64 MB, as a rule. */
  readonly sharedMemory: boolean
}

const SHARED_MEMORY = '/dev/shm'
const SHARED_MEMORY_MIN = 2 * 1_073_741_824

/** An identity that owns no file, so that there is nothing for an escaped page to read. */
const NOBODY: User = { name: '65533', uid: 65_533, gid: 65_533 }

/** Makes the directory; for root, another one where this one is closed to whom browsers run as. */
export async function findPlace(home: string): Promise<Place> {
  await mkdir(home, { recursive: true, mode: 0o711 })
  const sharedMemory = await hasSharedMemory()
  if (process.getuid?.() !== 0) return { home, user: undefined, sharedMemory }
  await chmod(home, 0o711)
  if (await mayReach(NOBODY, home)) return { home, user: NOBODY, sharedMemory }
  const shared = join(SHARED_HOME, 'browser')
  await mkdir(shared, { recursive: true, mode: 0o755 })
  return { home: shared, user: NOBODY, sharedMemory }
}

async function hasSharedMemory(): Promise<boolean> {
  const { bavail, bsize } = await statfs(SHARED_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize >= SHARED_MEMORY_MIN
}

/** A new profile, named after this process, so that it is found when nobody could clean up. */
export async function makeProfile({ home, user }: Place): Promise<string> {
  const owner = `${process.pid}-${await startOf(process.pid)}`
  const profile = join(home, `profile-${owner}-${randomUUID()}`)
  await mkdir(profile, { mode: 0o700 })
  if (user) await chown(profile, user.uid, user.gid)
  return profile
}

/** Removes the profiles of processes that were killed. */
export async function sweepProfiles({ home }: Place): Promise<void> {
  for (const name of await readdir(home)) {
    const [, pid = '', start] = /^profile-(\d+)-([^-]*)-/.exec(name) ?? []
    if (start === undefined || start === (await startOf(Number(pid)))) continue
    await rm(join(home, name), { recursive: true, force: true })
  }
}
