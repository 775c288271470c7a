import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Micros, usd } from '../../core/money.ts'
import { Failure } from './failure.ts'

/** What the command line goes by: flag, then environment, project, user's file, default. */
export interface Settings {
  /** Where keys, wallet and tools are kept, for the user alone. */
  readonly dir: string
  /** The origin of the hub; undefined: the one that was registered with last. */
  readonly hub: string | undefined
  /** Whether a file of the folder that one is in named it, and not the user. */
  readonly hubOfProject: boolean
  readonly proxyUrl: string | undefined
  readonly mcpUrl: string | undefined
  readonly apiKey: string | undefined
  /** No call may cost more without being asked for, in microdollars. */
  readonly maxPrice: Micros
  /** Above it a person at the terminal is asked, in microdollars. */
  readonly confirmAbove: Micros
  /** A wallet of real money. */
  readonly privateKey: string | undefined
  readonly walletPassword: string | undefined
  readonly color: boolean
  /** Whether a spinner disturbs nobody. */
  readonly animated: boolean
  readonly env: NodeJS.ProcessEnv
}

/** What flags may say of it. */
export interface Flags {
  readonly hub?: string
  readonly color?: boolean
}

export const DEFAULT_HUB = 'http://127.0.0.1:8402'
const PROJECT_FILE = '.agenthubrc.json'
const DEFAULTS = { max_price_usd: '0.10', confirm_above_usd: '0.05' } as const

interface File {
  readonly hub?: string
  readonly max_price_usd?: string
  readonly confirm_above_usd?: string
}

/** @throws Failure for a file or a variable that cannot be read */
export function readSettings(
  flags: Flags = {},
  env: NodeJS.ProcessEnv = process.env,
  cwd: string = process.cwd(),
): Settings {
  const dir = configDir(env)
  const user = readFile(join(dir, 'config.json'))
  const project = readFile(join(cwd, PROJECT_FILE))
  const named = flags.hub ?? (env['HUB_BASE_URL'] || undefined)
  const hub = named ?? project.hub ?? user.hub
  const own = price('max_price_usd', env['HUB_MAX_PRICE'] ?? user.max_price_usd)
  const here = price('max_price_usd', project.max_price_usd ?? undefined, own)
  return {
    dir,
    hub: hub === undefined ? undefined : originOf(hub),
    hubOfProject: named === undefined && project.hub !== undefined && project.hub !== user.hub,
    proxyUrl: env['HUB_PROXY_URL'] || undefined,
    mcpUrl: env['HUB_MCP_URL'] || undefined,
    apiKey: env['HUB_API_KEY'] || undefined,
    maxPrice: here < own ? here : own, // what comes with a project may only lower it
    confirmAbove: price('confirm_above_usd', user.confirm_above_usd),
    privateKey: env['HUB_PRIVATE_KEY'] || undefined,
    walletPassword: passwordOf(env),
    color: wantsColor(flags, env),
    animated: process.stderr.isTTY && !env['CI'] && env['TERM'] !== 'dumb',
    env,
  }
}

/** `$XDG_CONFIG_HOME/agenthub`, also on macOS; `%APPDATA%\agenthub` on Windows. */
function configDir(env: NodeJS.ProcessEnv): string {
  if (env['HUB_CONFIG_DIR']) return env['HUB_CONFIG_DIR']
  if (process.platform === 'win32' && env['APPDATA']) return join(env['APPDATA'], 'agenthub')
  return join(env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'agenthub')
}

/** Of an address that may have a path. @throws Failure */
function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url.origin
  throw new Failure(
    'usage',
    `Not the address of a hub: ${text}`,
    'Give one like https://hub.example',
  )
}

function readFile(path: string): File {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Failure('error', `${path} is not valid JSON.`, 'Mend it, or move it away.', { cause })
  }
}

function price(name: keyof typeof DEFAULTS, text: string | undefined, otherwise?: Micros): Micros {
  if (text === undefined && otherwise !== undefined) return otherwise
  try {
    return usd(text ?? DEFAULTS[name])
  } catch (cause) {
    throw new Failure('usage', `${name} is not a dollar amount: ${text}`, 'Such as 0.10', { cause })
  }
}

function passwordOf(env: NodeJS.ProcessEnv): string | undefined {
  if (env['HUB_WALLET_PASSWORD'] !== undefined) return env['HUB_WALLET_PASSWORD']
  const file = env['HUB_WALLET_PASSWORD_FILE']
  return file ? readFileSync(file, 'utf8').replace(/\r?\n$/, '') : undefined
}

/** Whether an error may have colours, also one that the settings themselves have. */
export const errorsInColor = (env: NodeJS.ProcessEnv = process.env): boolean =>
  process.stderr.isTTY && wantsColor({}, env)

/** https://no-color.org: any value but an empty one. */
function wantsColor({ color }: Flags, env: NodeJS.ProcessEnv): boolean {
  if (color === false || env['NO_COLOR'] || env['TERM'] === 'dumb') return false
  return Boolean(env['FORCE_COLOR']) || process.stdout.isTTY
}
