import { constants } from 'node:fs'
import { mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Failure } from './failure.ts'

const OWNER_ONLY = 0o600

/** Parsed; undefined when there is none. @throws Failure for one that is no JSON */
export async function readJson<T>(path: string): Promise<T | undefined> {
  const text = await readText(path)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Failure('error', `${path} is not valid JSON.`, 'Mend it, or move it away.', { cause })
  }
}

/** Undefined when there is no such file. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Replaces a file as a whole: whoever reads it sees the old or the new one, also after a crash.
 * It is never readable to others in between, and a link stays a link.
 * @param mode of a new file; an old one keeps its own. @defaultValue the owner alone
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

/** Whether others than its owner may read a file. */
export async function isLoose(path: string): Promise<boolean> {
  if (process.platform === 'win32') return false
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && (found.mode & 0o077) !== 0
}
