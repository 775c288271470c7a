import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { ConfigError } from '../runtime/config-error.ts'

const run = promisify(execFile)

/**
 * Locks `file` for this process, replacing the lock of a dead one. Two processes that replace it at
 * the same instant could both succeed, so the caller needs a second guard, such as PostgreSQL's
 * `postmaster.pid`.
 * @returns a function that releases the lock
 * @throws ConfigError if a living process holds the lock
 */
export async function lockFile(file: string, what: string): Promise<() => Promise<void>> {
  const claim = `${file}.${randomUUID()}`
  await writeFile(claim, `${process.pid} ${await processStartTime(process.pid)}\n`)
  try {
    for (;;) {
      // A link appears with its content, so that nobody reads a partial claim.
      if (await tryLink(claim, file)) return () => rm(file, { force: true })
      const [pid, ...start] = (await readFile(file, 'utf8').catch(() => '')).trim().split(' ')
      if (pid && start.join(' ') === (await processStartTime(Number(pid))))
        throw lockHeldError(file, what, pid)
      await rm(file, { force: true })
    }
  } finally {
    await rm(claim, { force: true })
  }
}

const lockHeldError = (file: string, what: string, pid: string): Error =>
  new ConfigError(
    `${what} is in use by process ${pid}. Stop that process (kill ${pid}), or choose another ` +
      `data directory. (The lock is ${file}.)`,
  )

const tryLink = (from: string, to: string): Promise<boolean> =>
  link(from, to).then(
    () => true,
    (error) => {
      if (error.code === 'EEXIST') return false
      throw error
    },
  )

/** Start time of a process, to distinguish it from a later one with its pid; '' if dead. */
export async function processStartTime(pid: number): Promise<string> {
  if (process.platform !== 'linux') {
    return run('ps', ['-o', 'lstart=', '-p', String(pid)]).then(
      ({ stdout }) => stdout.trim(),
      () => '',
    )
  }
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const dead = fields[0] === 'Z' || fields[0] === 'X'
  return dead ? '' : (fields[19] ?? '')
}
