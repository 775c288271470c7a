import { constants } from 'node:fs'
import { mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Failure } from './failure.ts'

const OWNER_ONLY = 0o600

/** Reads a JSON file; undefined if it does not exist. @throws Failure for invalid JSON */
export async function readJson<T>(path: string): Promise<T | undefined> {
  const text = await readText(path)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Failure('error', `${path} is not valid JSON.`, 'Fix it, or move it away.', { cause })
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

/**
 * Replaces a file atomically: readers see the old or the new content, even after a crash.
 * It is never readable to others in between. A symbolic link is preserved.
 * @param mode of a new file; an existing one keeps its own. @defaultValue owner only
 */
export async function replaceFile(path: string, text: string, mode = OWNER_ONLY): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const target = await realpath(path).catch(() => path)
  const kept = await stat(target).catch(() => undefined)
  const part = join(dirname(target), `.${process.pid}-${Math.trunc(performance.now())}.tmp`)
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY
  const file = await open(part, flags, kept ? kept.mode & 0o777 : mode)
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

/** Returns true if users other than the owner may read a file. */
export async function isReadableByOthers(path: string): Promise<boolean> {
  if (process.platform === 'win32') return false
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && (found.mode & 0o077) !== 0
}
