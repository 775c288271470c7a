import { readdir, readFile } from 'node:fs/promises'

/** A process of a browser. */
export interface Process {
  readonly pid: number
  readonly isPage: boolean
  /** Memory of its own, in bytes: what is shared with others from files is not counted. */
  readonly bytes: number
}

/**
 * The processes of a group, read from /proc; none where there is no /proc. Processes that belong to
 * others are remembered, so that each is looked at once.
 */
export class ProcessGroup {
  readonly #group: number
  readonly #strangers = new Set<string>()

  constructor(group: number) {
    this.#group = group
  }

  async processes(): Promise<Process[]> {
    const names = await readdir('/proc').catch(() => [])
    const pids = names.filter((name) => /^\d+$/.test(name))
    const known = new Set(pids)
    for (const pid of this.#strangers) if (!known.has(pid)) this.#strangers.delete(pid)
    const ours = pids.filter((pid) => !this.#strangers.has(pid))
    const read = await Promise.all(ours.map((pid) => this.#read(pid)))
    return read.filter((each) => each !== undefined)
  }

  async #read(pid: string): Promise<Process | undefined> {
    const stat = await textOf(pid, 'stat')
    if (stat === '') return undefined
    // Fields after the name, which is in parentheses: state, parent, group … (proc_pid_stat(5))
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (state === 'Z' || state === 'X') return undefined // dead, and not yet buried
    if (Number(group) !== this.#group) {
      this.#strangers.add(pid)
      return undefined
    }
    const [status, command] = await Promise.all([textOf(pid, 'status'), textOf(pid, 'cmdline')])
    return {
      pid: Number(pid),
      isPage: command.includes('--type=renderer'),
      bytes: ownBytes(status),
    }
  }
}

const textOf = (pid: string, file: string): Promise<string> =>
  readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')

/** What a status file of Linux says: heaps and stacks, and memory shared with other processes. */
export function ownBytes(status: string): number {
  const kib = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0)
  return (kib('RssAnon') + kib('RssShmem')) * 1_024
}

/** Memory that the processes of a browser may have, in bytes. */
export interface Caps {
  readonly page: number
  readonly browser: number
}

/** Which processes have to go: pages that grew too large, or all of them (undefined: none). */
export function overweight(processes: readonly Process[], caps: Caps): readonly number[] | 'all' {
  const sum = processes.reduce((bytes, each) => bytes + each.bytes, 0)
  if (sum > caps.browser) return 'all'
  return processes.flatMap(({ isPage, bytes, pid }) => (isPage && bytes > caps.page ? [pid] : []))
}
