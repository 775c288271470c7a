import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { installed } from './installed.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Programs take long to start on a busy machine. */
const TIMEOUT_MS = 300_000

interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  /** Folder to start in. @defaultValue that of the clients */
  readonly cwd?: string
}

/**
 * Runs Node in a clean environment, with its packages from the folder of the clients.
 * @throws Error if it does not exit with 0
 * @returns stdout
 */
async function runNode(args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { env = {}, input = '', cwd = installed! } = options
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  const exit = new Promise((resolve) => child.once('close', resolve))
  child.stdin.on('error', () => {}) // it ended before it read its input
  child.stdin.end(input)
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), exit])
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${String(code)}: ${err}${out}`)
  return out
}

/** Runs a program that uses the clients as a module, as their documentation does. */
export const runModule = (code: string, env: Readonly<Record<string, string>>): Promise<string> =>
  runNode(['--input-type=module', '-e', code], { env })

/** Runs a command of the clients by its name in `node_modules/.bin`. */
export const runCommand = (
  name: string,
  args: readonly string[],
  options?: RunOptions,
): Promise<string> => runNode([join(installed!, 'node_modules/.bin', name), ...args], options)

/** Runs a command of the project's own dependencies. */
export const runOwn = (
  name: string,
  args: readonly string[],
  options: RunOptions,
): Promise<string> =>
  runNode([join(ROOT, 'node_modules/.bin', name), ...args], { cwd: ROOT, ...options })
