import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { elapsedMs, unrefSleep } from '../clock.ts'

/** Child process that is terminated when the hub exits, including on SIGKILL. */
export interface ManagedProcess {
  readonly pid: number
  /** Last output of the child, for error messages; at most 8 KiB. */
  tail(): string
  /** Resolves with the exit code; -1 if the child was killed by a signal. */
  readonly exited: Promise<number>
  /** Sends SIGINT, waits, and sends SIGKILL after `graceMs`. */
  stop(graceMs?: number): Promise<void>
  /** Its file descriptors 3 (input) and 4 (output), if requested. */
  readonly pipes?: { readonly input: Writable; readonly output: Readable }
}

export interface ManagedProcessOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Unprivileged user to run as, for a hub started by root. */
  readonly user?: { readonly uid: number; readonly gid: number }
  /** True to open file descriptors 3 and 4. @defaultValue false */
  readonly pipes?: boolean
  /** Read rate of its output; more makes the child wait. @defaultValue unlimited */
  readonly printRate?: number
}

/**
 * Starts a watcher and replaces the shell by the child. The hub holds the write end of the
 * watcher's standard input: when the hub dies, even by SIGKILL, the kernel closes it, `cat` ends
 * and the watcher sends SIGINT, on which PostgreSQL and anvil shut down cleanly.
 */
const SCRIPT = `
exec 9<&0 </dev/null
(
  exec 3<&- 4>&-
  cat <&9 >/dev/null
  for second in 1 2 3 4 5 6 7 8 9 10; do kill -INT $$ || exit; sleep 1; done
  kill -KILL $$
) >/dev/null 2>&1 &
exec 9<&-
exec "$@"
`
const TAIL_BYTES = 8_192

/** Starts `command` so that it cannot outlive the hub; Ctrl-C does not reach it. */
export function startManagedProcess(
  command: string,
  args: readonly string[],
  {
    cwd,
    env,
    user,
    pipes = false,
    printRate = Number.POSITIVE_INFINITY,
  }: ManagedProcessOptions = {},
): ManagedProcess {
  const shell: ChildProcess = spawn(
    '/bin/sh',
    ['-c', SCRIPT, 'managed-process', command, ...args],
    {
      stdio: pipes ? ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe'],
      detached: true,
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
      ...user,
    },
  )
  let printed = ''
  const remember = (chunk: Buffer): void => {
    printed = (printed + chunk.toString()).slice(-TAIL_BYTES)
  }
  for (const stream of [shell.stdout, shell.stderr]) {
    stream?.on('data', remember)
    if (stream) limitRate(stream, printRate)
  }
  const [, , , input, output] = shell.stdio
  for (const stream of [shell.stdin, input, output]) stream?.on('error', () => {})
  const exited = once(shell, 'exit').then(([code]) => {
    killProcessGroup(shell.pid)
    return (code as number | null) ?? -1
  })
  exited.catch(() => {})
  return {
    pid: shell.pid ?? -1,
    tail: () => printed,
    exited,
    ...(pipes && { pipes: { input: input as Writable, output: output as Readable } }),
    async stop(graceMs = 10_000) {
      shell.stdin?.end()
      await Promise.race([exited, unrefSleep(graceMs)])
      if (shell.exitCode === null && shell.signalCode === null) killProcessGroup(shell.pid)
      await exited
    },
  }
}

/** Reads at most `rate` bytes per second. */
function limitRate(stream: Readable, rate: number): void {
  if (rate === Number.POSITIVE_INFINITY) return
  let read = 0
  let since = elapsedMs()
  stream.on('data', (chunk: Buffer) => {
    const passed = elapsedMs() - since
    if (passed > 1_000) {
      since += passed
      read = 0
    }
    read += chunk.length
    if (read <= rate) return
    stream.pause()
    void unrefSleep(1_000).then(() => stream.resume())
  })
}

/** Kills the rest of the child's session: the watcher, or a child that does not stop. */
function killProcessGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
