import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, realpath, rename, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { createInterface } from 'node:readline'
import { configDir } from '../config.ts'
import type { Context } from '../context.ts'
import { EXIT_CODES, Failure } from '../failure.ts'

/** Command that starts this command line from any folder and without a shell's environment. */
export interface Launcher {
  readonly command: string
  readonly args: readonly string[]
}

const TRY_TIMEOUT_MS = 30_000
/** Folders that package runners empty: npx, pnpm dlx, yarn dlx, bunx, and other caches. */
const TEMPORARY = /[\\/](?:_npx|dlx-[^\\/]*|xfs-[^\\/]*|bunx-[^\\/]*|\.cache)[\\/]/

/**
 * Finds the launcher of this command line, by absolute paths. A package in a temporary folder is
 * launched from a copy in the user's data folder. It never downloads anything.
 * @param isCopied false: only returns where the copy would be
 */
export async function findLauncher(
  { settings, hub }: Pick<Context, 'settings' | 'hub'>,
  isCopied: boolean,
): Promise<Launcher> {
  const main = await realpath(process.argv[1]!)
  const isTemporary = TEMPORARY.test(main) || main.startsWith(realpathSync(tmpdir()) + sep)
  const isPackage = main.includes(`${sep}node_modules${sep}agenthub${sep}`)
  const path = isTemporary && isPackage ? await copyPackage(main, settings.env, isCopied) : main
  const { APPDATA } = settings.env
  const isDefault = settings.dir === configDir(APPDATA === undefined ? {} : { APPDATA })
  const args = [path, '--hub', hub, ...(isDefault ? [] : ['--config-dir', settings.dir])]
  return { command: process.execPath, args }
}

/** Copies the package and its dependencies; the folder is named after their content. */
async function copyPackage(
  main: string,
  env: NodeJS.ProcessEnv,
  isCopied: boolean,
): Promise<string> {
  const marker = `${sep}node_modules${sep}`
  const at = main.lastIndexOf(`${marker}agenthub${sep}`)
  const modules = main.slice(0, at + marker.length - 1)
  const own = main.slice(at + marker.length)
  const digest = await digestOf(join(modules, 'agenthub'))
  const target = join(dataDir(env), 'cli', digest)
  const copy = join(target, 'node_modules', own)
  if (existsSync(copy) || !isCopied) return copy
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  const part = `${target}.${process.pid}.tmp`
  await cp(modules, join(part, 'node_modules'), { recursive: true, verbatimSymlinks: true })
  await rename(part, target).catch(async (error: unknown) => {
    await rm(part, { recursive: true, force: true })
    if (!existsSync(copy)) throw error // another process was faster
  })
  return copy
}

async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256')
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = found
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name))
  for (const file of files.toSorted()) {
    hash.update(`${file.slice(folder.length)}\0`).update(await readFile(file))
  }
  return hash.digest('hex').slice(0, 16)
}

/** Returns `$XDG_DATA_HOME/agenthub`, also on macOS; `%LOCALAPPDATA%\agenthub` on Windows. */
function dataDir(env: NodeJS.ProcessEnv): string {
  if (process.platform === 'win32' && env['LOCALAPPDATA'])
    return join(env['LOCALAPPDATA'], 'agenthub')
  return join(env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share'), 'agenthub')
}

/** Result of a try: the number of tools, or why there are none yet. */
export type TryResult = { readonly tools: number } | { readonly reason: string }

/** Messages by which an assistant lists the tools of an MCP server over stdio. */
export const LIST_TOOLS = [
  {
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'hub install', version: '1' },
    },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list' },
]

/**
 * Starts the launcher as an assistant would, from another folder and with a clean environment, and
 * lists the tools.
 * @param env of this process
 * @throws Failure if it does not start, so that nothing is written that does not run
 */
export async function tryLauncher(
  { command, args }: Launcher,
  env: NodeJS.ProcessEnv,
): Promise<TryResult> {
  const child = spawn(command, [...args, 'mcp'], { cwd: tmpdir(), env: cleanEnvironment(env) })
  const timeout = setTimeout(() => child.kill('SIGKILL'), TRY_TIMEOUT_MS)
  let stderr = ''
  child.stderr.on('data', (chunk) => void (stderr += String(chunk)))
  child.stdin.on('error', () => {}) // it ended before it read the messages
  const exit = new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      stderr += error.message
      resolve(null)
    })
    child.once('close', resolve)
  })
  child.stdin.end(
    LIST_TOOLS.map((each) => `${JSON.stringify({ jsonrpc: '2.0', ...each })}\n`).join(''),
  )
  let response: ListResponse | undefined
  for await (const line of createInterface({ input: child.stdout })) {
    const message = JSON.parse(line) as ListResponse
    if (message.id === 2) response = message
  }
  const code = await exit
  clearTimeout(timeout)
  const said = stderr.replace(/^error: /, '').trim()
  if (response?.result) return { tools: response.result.tools.length }
  if (response?.error) return { reason: response.error.message }
  if (code === EXIT_CODES.no_key) return { reason: said }
  const line = [command, ...args].join(' ')
  throw new Failure('error', `This command does not start: ${line}`, said.split('\n')[0])
}

interface ListResponse {
  readonly id: number
  readonly result?: { readonly tools: readonly unknown[] }
  readonly error?: { readonly message: string }
}

/** Variables that every program of a user has, as graphical programs start theirs. */
function cleanEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = ['HOME', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'SystemRoot']
  const kept = names.flatMap((name) => {
    const value = env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...Object.fromEntries(kept), PATH: '/usr/bin:/bin' }
}
