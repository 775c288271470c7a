import { spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

export const MAIN = new URL('../../../server/cli/hub.mjs', import.meta.url).pathname
/** Compile cache shared by all test users. */
const COMPILED = join(tmpdir(), 'agenthub-test-compiled')

const TIMEOUT_MS = 20_000

/** Result of one run of the command line. */
export interface Ran {
  readonly exit: number
  readonly out: string
  readonly err: string
}

/** User and group id of a process. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/** A user with a home folder of their own and a clean environment. */
export class User {
  readonly home = mkdtempSync(join(tmpdir(), 'agenthub-cli-'))
  readonly env: Record<string, string>
  readonly account: Account | undefined

  /** @param account that owns the home and runs the commands. @defaultValue that of this process */
  constructor(env: Readonly<Record<string, string>> = {}, account?: Account) {
    const { PATH = '' } = process.env
    this.account = account
    if (account) chownSync(this.home, account.uid, account.gid)
    this.env = { PATH, HOME: this.home, NODE_COMPILE_CACHE: COMPILED, ...env }
  }

  /** Runs `hub` in pipes. */
  async hub(args: readonly string[], input = ''): Promise<Ran> {
    const options = { env: this.env, cwd: this.home, ...this.account }
    const child = spawn(process.execPath, [MAIN, ...args], options)
    child.stdin.end(input)
    const ended = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)))
    const [out, err, exit] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    return { exit, out, err }
  }

  /** Runs `hub --json` and parses the result. @throws Error if it fails */
  async json(...args: readonly string[]): Promise<Record<string, unknown>> {
    const { exit, out, err } = await this.hub(['--json', ...args])
    if (exit !== 0) throw new Error(`hub ${args.join(' ')} left with ${exit}: ${err}`)
    return JSON.parse(out)
  }

  /**
   * Runs `hub` at a pseudo-terminal created by `script`, with typed input. Undefined if there is no
   * such program.
   */
  async typed(args: readonly string[], keys: string): Promise<Ran | undefined> {
    const line = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ')
    const env = { ...this.env, TERM: 'xterm' }
    const child = spawn('script', ['-qec', line, '/dev/null'], { env, cwd: this.home })
    const started = await new Promise<boolean>((resolve) => {
      child.once('spawn', () => resolve(true))
      child.once('error', () => resolve(false))
    })
    if (!started) return undefined
    const ended = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)))
    const timeout = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS)
    let out = ''
    let isPrompted = false
    child.stdout.on('data', (chunk) => {
      out += String(chunk)
      if (isPrompted || !out.includes('[y/N]')) return
      isPrompted = true
      child.stdin.write(keys)
    })
    const exit = await ended
    clearTimeout(timeout)
    return { exit, out, err: '' }
  }

  leave(): void {
    rmSync(this.home, { recursive: true, force: true })
  }
}

/** Creates users of a hub and removes them after the tests. */
export function usersOf(url: () => string) {
  const users: User[] = []
  after(() => {
    for (const each of users) each.leave()
  })
  const user = (env: Readonly<Record<string, string>> = {}): User => {
    const made = new User({ HUB_BASE_URL: url(), ...env })
    users.push(made)
    return made
  }
  /** Creates a user with a key and $5 of credits. */
  const customer = async (): Promise<User> => {
    const made = user()
    await made.json('register')
    await made.json('--yes', 'topup', '5')
    return made
  }
  return { user, customer }
}

/** Writes a file in the user's home. */
export const configOf = ({ home }: User, name: string): string =>
  join(home, '.config', 'agenthub', name)
