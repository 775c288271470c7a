import { constants } from 'node:fs'
import { mkdir, open, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Failure } from './failure.ts'

const OWNER_ONLY = 0o600
const BACKUPS_MAX = 20
const LOCK_RETRY_MS = 20

/** Reads a JSON file; undefined if it does not exist. @throws Failure with `hint` if invalid */
export async function readJson<T>(
  path: string,
  hint = 'Fix it, or move it away.',
): Promise<T | undefined> {
  const text = await readText(path)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Failure('error', `${path} is not valid JSON.`, hint, { cause })
  }
}

/** Reads a file; undefined if it does not exist. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const READ_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'you have no permission to read it',
}

/** Reads a file that the user names. @throws Failure if it cannot be read */
export async function readNamedFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const { code = '', message } = cause as NodeJS.ErrnoException
    const reason = READ_ERRORS[code] ?? message
    throw new Failure('usage', `Cannot read ${path}: ${reason}.`, undefined, { cause })
  }
}

/**
 * Replaces a file atomically: readers see the old or the new content, even after a crash.
 * It is never readable to others in between. A new file is readable by the owner only; an existing
 * one keeps its mode. A symbolic link is preserved.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const target = await realpath(path).catch(() => path)
  const kept = await stat(target).catch(() => undefined)
  const part = join(dirname(target), `.${process.pid}-${Math.trunc(performance.now())}.tmp`)
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY
  const file = await open(part, flags, kept ? kept.mode & 0o777 : OWNER_ONLY)
  try {
    await file.writeFile(text)
    await file.sync()
    await file.close()
    await rename(part, target)
  } catch (error) {
    await file.close().catch(() => {})
    await rm(part, { force: true })
    throw error
  }
}

/** Replaces a JSON file, as `replaceFile`. */
export const replaceJson = (path: string, value: unknown): Promise<void> =>
  replaceFile(path, `${JSON.stringify(value, null, 2)}\n`)

/** Returns true if users other than the owner may read a file. */
export async function isReadableByOthers(path: string): Promise<boolean> {
  if (process.platform === 'win32') return false
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && (found.mode & 0o077) !== 0
}

/** Writes a text to `backups/` beside a file, readable to the owner only; prunes the oldest. */
export async function storeBackup(path: string, text: string): Promise<void> {
  const folder = join(dirname(path), 'backups')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const isOurs = (name: string): boolean => name.startsWith(`${basename(path)}.`)
  const names = (await readdir(folder)).filter(isOurs).toSorted()
  const number = Number(names.at(-1)?.slice(-6) ?? 0) + 1
  await replaceFile(join(folder, `${basename(path)}.${String(number).padStart(6, '0')}`), text)
  for (const name of names.slice(0, -BACKUPS_MAX)) await rm(join(folder, name), { force: true })
}

/** Runs work while no other process runs work under the same path. */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  while (!(await createLock(lock))) {
    await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS))
  }
  try {
    return await work()
  } finally {
    await rm(lock, { force: true })
  }
}

/** Creates a lock file with the id of this process; removes that of a process that ended. */
async function createLock(lock: string): Promise<boolean> {
  try {
    const file = await open(lock, 'wx', OWNER_ONLY)
    await file.writeFile(String(process.pid))
    await file.close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const owner = Number(await readText(lock))
  if (owner > 0 && !isRunning(owner)) await rm(lock, { force: true })
  return false
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' // runs as another user
  }
}
