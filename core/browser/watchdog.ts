import { readdir, readFile } from 'node:fs/promises'

/** Process of a browser. */
export interface Process {
  readonly pid: number
  readonly isPage: boolean
  /** Private memory in bytes, without file pages shared with other processes. */
  readonly bytes: number
}

/** Processes of a process group, read from /proc if there is one. Reads other pids only once. */
export class ProcessGroup {
  readonly #group: number
  readonly #otherPids = new Set<string>()

  constructor(group: number) {
    this.#group = group
  }

  async processes(): Promise<Process[]> {
    const names = await readdir('/proc').catch(() => [])
    const pids = names.filter((name) => /^\d+$/.test(name))
    const known = new Set(pids)
    for (const pid of this.#otherPids) if (!known.has(pid)) this.#otherPids.delete(pid)
    const ours = pids.filter((pid) => !this.#otherPids.has(pid))
    const read = await Promise.all(ours.map((pid) => this.#read(pid)))
    return read.filter((each) => each !== undefined)
  }

  async #read(pid: string): Promise<Process | undefined> {
    const stat = await readProcFile(pid, 'stat')
    if (stat === '') return undefined
    // Fields after the name, which is in parentheses: state, parent, group … (proc_pid_stat(5))
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (state === 'Z' || state === 'X') return undefined // zombie
    if (Number(group) !== this.#group) {
      this.#otherPids.add(pid)
      return undefined
    }
    const [status, command] = await Promise.all([
      readProcFile(pid, 'status'),
      readProcFile(pid, 'cmdline'),
    ])
    return {
      pid: Number(pid),
      isPage: command.includes('--type=renderer'),
      bytes: privateBytes(status),
    }
  }
}

const readProcFile = (pid: string, file: string): Promise<string> =>
  readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')

/** Private memory in a status file of Linux: anonymous pages and shared memory segments. */
export function privateBytes(status: string): number {
  const kib = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0)
  return (kib('RssAnon') + kib('RssShmem')) * 1_024
}

/** Memory limits of a page process and of a whole browser, in bytes. */
export interface MemoryCaps {
  readonly page: number
  readonly browser: number
}

/** Returns the pids of pages above their cap, or `all` if the browser is above its cap. */
export function findOverCap(
  processes: readonly Process[],
  caps: MemoryCaps,
): readonly number[] | 'all' {
  const sum = processes.reduce((bytes, each) => bytes + each.bytes, 0)
  if (sum > caps.browser) return 'all'
  return processes.flatMap(({ isPage, bytes, pid }) => (isPage && bytes > caps.page ? [pid] : []))
}
