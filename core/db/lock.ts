import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { ConfigError } from '../runtime/config-error.ts'

const run = promisify(execFile)

/**
 * Claims `file` for this process; the claim of a dead one is taken over. Two processes that take
 * over at the same instant could both succeed: whoever uses the lock needs a second guard against
 * that, as PostgreSQL has in its own `postmaster.pid`.
 * @returns gives the claim up.
 * @throws ConfigError when a living process has it
 */
export async function lockFile(file: string, what: string): Promise<() => Promise<void>> {
  const claim = `${file}.${randomUUID()}`
  await writeFile(claim, `${process.pid} ${await startOf(process.pid)}\n`)
  try {
    for (;;) {
      // A link appears with its content, so nobody ever reads a claim half written.
      if (await tryLink(claim, file)) return () => rm(file, { force: true })
      const [pid, ...start] = (await readFile(file, 'utf8').catch(() => '')).trim().split(' ')
      if (pid && start.join(' ') === (await startOf(Number(pid)))) throw held(file, what, pid)
      await rm(file, { force: true })
    }
  } finally {
    await rm(claim, { force: true })
  }
}

const held = (file: string, what: string, pid: string): Error =>
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

/** When a process started, which tells it from a later one of the same number; '' when dead. */
export async function startOf(pid: number): Promise<string> {
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
