import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { elapsedMs, patience } from '../clock.ts'

/** A child process that ends when the hub ends, however the hub ends. */
export interface Kept {
  readonly pid: number
  /** What the child has printed last, for error messages. At most 8 KiB. */
  tail(): string
  /** Resolves with the exit code (-1: ended by a signal) once the child has gone. */
  readonly exited: Promise<number>
  /** Sends SIGINT and waits; after `graceMs` SIGKILL. */
  stop(graceMs?: number): Promise<void>
  /** What it reads as file 3 and writes as file 4, where that was asked for. */
  readonly pipes?: { readonly input: Writable; readonly output: Readable }
}

export interface KeepOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Unprivileged identity to run as, for a hub started by root. */
  readonly user?: { readonly uid: number; readonly gid: number }
  /** Whether it is spoken to by the files 3 and 4. @defaultValue false */
  readonly pipes?: boolean
  /** Bytes that it may print in a second; it waits for the next one then. @defaultValue any */
  readonly printRate?: number
}

/**
 * A watcher beside the child, and the child in the shell's own place. The hub holds the write
 * end of the watcher's standard input: when the hub dies, even by SIGKILL, the kernel closes it,
 * `cat` ends and the child gets SIGINT, which PostgreSQL and anvil take as "stop now, in order".
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

/**
 * Starts `command` so that it cannot outlive the hub. It runs in a session of its own, so that
 * a Ctrl-C meant for the hub does not reach it before the hub has drained.
 */
export function keep(
  command: string,
  args: readonly string[],
  { cwd, env, user, pipes = false, printRate = Number.POSITIVE_INFINITY }: KeepOptions = {},
): Kept {
  const shell: ChildProcess = spawn('/bin/sh', ['-c', SCRIPT, 'keeper', command, ...args], {
    stdio: pipes ? ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe'],
    detached: true,
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    ...user,
  })
  let printed = ''
  const remember = (chunk: Buffer): void => {
    printed = (printed + chunk.toString()).slice(-TAIL_BYTES)
  }
  for (const stream of [shell.stdout, shell.stderr]) {
    stream?.on('data', remember)
    if (stream) slow(stream, printRate)
  }
  const [, , , input, output] = shell.stdio
  for (const stream of [shell.stdin, input, output]) stream?.on('error', () => {})
  const exited = once(shell, 'exit').then(([code]) => {
    endGroup(shell.pid)
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
      await Promise.race([exited, patience(graceMs)])
      if (shell.exitCode === null && shell.signalCode === null) endGroup(shell.pid)
      await exited
    },
  }
}

/** Reads no more than so many bytes in a second. */
function slow(stream: Readable, rate: number): void {
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
    void patience(1_000).then(() => stream.resume())
  })
}

/** Ends whatever is left of the child's session: its watcher, or a child that will not stop. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
