import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { eventually } from '../support/eventually.ts'

/** Above the limit that the longest command, a recovery run, has itself. */
const COMMAND_TIMEOUT_MS = 1_000_000
const START_TIMEOUT_MS = 900_000
/** Commands of the README in a shell, in which `hub` is the command of the clone. */
const PRELUDE = 'set -eo pipefail; hub() { npx --no-install hub "$@"; }'

export interface Result {
  readonly exit: number
  readonly out: string
}

/** A person with a fresh clone, an empty home and one version of Node. */
export class Newcomer {
  readonly clone: string
  readonly #folder: string
  readonly #env: Record<string, string>
  #cwd: string
  #hub: ReturnType<typeof spawn> | undefined

  /** @param node folder of the `node` program */
  constructor(folder: string, node: string, env: Readonly<Record<string, string>>) {
    this.#folder = folder
    this.clone = join(folder, 'agenthub')
    this.#cwd = folder
    const inherited = Object.entries(process.env).filter(([name]) => !OURS.test(name))
    const PATH = `${node}:${process.env['PATH']!.split(':').filter(isSystem).join(':')}`
    const npm_config_cache = join(homedir(), '.npm') // saves the download of a second run
    const own = { PATH, HOME: join(folder, 'home'), npm_config_cache, ...env }
    this.#env = { ...(Object.fromEntries(inherited) as Record<string, string>), ...own }
  }

  /** Starts in the clone again, where every README begins. */
  reset(): void {
    this.#cwd = this.clone
  }

  /** Sets variables for later commands. */
  set(env: Readonly<Record<string, string>>): void {
    Object.assign(this.#env, env)
  }

  /** Runs one command; `cd` lasts until `reset`. */
  async run(command: string): Promise<Result> {
    const cwdFile = join(this.#folder, 'cwd')
    const script = `${PRELUDE}\n${command}\npwd > '${cwdFile}'`
    const child = this.#spawn(script, 'pipe')
    const timeout = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), COMMAND_TIMEOUT_MS)
    const exited = new Promise<number>((resolve) => {
      child.once('close', (code) => resolve(code ?? -1))
    })
    const [out, err, exit] = await Promise.all([text(child.stdout!), text(child.stderr!), exited])
    clearTimeout(timeout)
    if (exit === 0) this.#cwd = readFileSync(cwdFile, 'utf8').trim()
    return { exit, out: out + err }
  }

  /** Starts a command that serves until `stop`, and returns its output once it is ready. */
  async start(command: string, ready: RegExp): Promise<string> {
    const log = join(this.#folder, 'hub.log')
    const file = openSync(log, 'w')
    const child = this.#spawn(`${PRELUDE}; ${command}`, file)
    closeSync(file)
    this.#hub = child
    const read = () => readFileSync(log, 'utf8')
    await eventually(() => ready.test(read()) || child.exitCode !== null, START_TIMEOUT_MS)
    if (child.exitCode !== null) throw new Error(`${command} ended: ${read()}`)
    return read()
  }

  /** Returns what the hub has printed. */
  printed(): string {
    return readFileSync(join(this.#folder, 'hub.log'), 'utf8')
  }

  async stop(): Promise<void> {
    const child = this.#hub
    if (!child || child.exitCode !== null) return
    const closed = new Promise((resolve) => child.once('close', resolve))
    process.kill(-child.pid!, 'SIGINT')
    await closed
  }

  #spawn(script: string, output: 'pipe' | number) {
    return spawn('bash', ['-c', script], {
      cwd: this.#cwd,
      env: this.#env,
      stdio: ['ignore', output, output],
      detached: true,
    })
  }
}

/** Variables that a newcomer does not have; proxies and certificates stay. */
const OURS = /^(HUB_|npm_|NODE_OPTIONS$|CI$|XDG_)/i
/** Leaves out the folders that npm puts in front of PATH. */
const isSystem = (folder: string): boolean => !folder.includes('node_modules')
