import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Micros, usd } from '../../core/money.ts'
import { Failure } from './failure.ts'

/** Settings, by precedence: flag, environment, project file, user file, default. */
export interface Settings {
  /** Directory of keys, wallets and tools, readable to the user only. */
  readonly dir: string
  /** Origin of the hub; undefined for the one last registered with. */
  readonly hub: string | undefined
  /** True if a file of the current project named the hub, not the user. */
  readonly isHubFromProject: boolean
  readonly proxyUrl: string | undefined
  readonly mcpUrl: string | undefined
  readonly apiKey: string | undefined
  /** Maximum price of a call without --max-price, in microdollars. */
  readonly maxPrice: Micros
  /** Price above which a person is asked for confirmation, in microdollars. */
  readonly confirmAbove: Micros
  /** Private key of a wallet with real money. */
  readonly privateKey: string | undefined
  readonly walletPassword: string | undefined
  readonly color: boolean
  /** True if a spinner may be shown. */
  readonly isAnimated: boolean
  readonly env: NodeJS.ProcessEnv
}

/** Flags that override settings. */
export interface Flags {
  readonly hub?: string
  readonly configDir?: string
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

/** Reads the settings. @throws Failure for an invalid file or variable */
export function readSettings(flags: Flags): Settings {
  const { env } = process
  const dir = flags.configDir === undefined ? configDir(env) : resolve(flags.configDir)
  const user = readFile(join(dir, 'config.json'))
  const project = readFile(join(process.cwd(), PROJECT_FILE))
  const named = flags.hub ?? (env['HUB_BASE_URL'] || undefined)
  const hub = named ?? project.hub ?? user.hub
  const own = parsePrice('max_price_usd', env['HUB_MAX_PRICE'] ?? user.max_price_usd)
  const here = parsePrice('max_price_usd', project.max_price_usd ?? undefined, own)
  return {
    dir,
    hub: hub === undefined ? undefined : parseOrigin(hub),
    isHubFromProject: named === undefined && project.hub !== undefined && project.hub !== user.hub,
    proxyUrl: env['HUB_PROXY_URL'] || undefined,
    mcpUrl: env['HUB_MCP_URL'] || undefined,
    apiKey: env['HUB_API_KEY'] || undefined,
    maxPrice: here < own ? here : own, // what comes with a project may only lower it
    confirmAbove: parsePrice('confirm_above_usd', user.confirm_above_usd),
    privateKey: env['HUB_PRIVATE_KEY'] || undefined,
    walletPassword: readPassword(env),
    color: wantsColor(flags, env),
    isAnimated: process.stderr.isTTY && !env['CI'] && env['TERM'] !== 'dumb',
    env,
  }
}

/** Returns `$XDG_CONFIG_HOME/agenthub`, also on macOS; `%APPDATA%\agenthub` on Windows. */
export function configDir(env: NodeJS.ProcessEnv): string {
  if (env['HUB_CONFIG_DIR']) return env['HUB_CONFIG_DIR']
  if (process.platform === 'win32' && env['APPDATA']) return join(env['APPDATA'], 'agenthub')
  return join(env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'agenthub')
}

/** Returns the origin of a URL. @throws Failure */
function parseOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url.origin
  throw new Failure('usage', `Not a hub URL: ${text}`, 'Use a URL such as https://hub.example')
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
    throw new Failure('error', `${path} is not valid JSON.`, 'Fix it, or move it away.', { cause })
  }
}

function parsePrice(
  name: keyof typeof DEFAULTS,
  text: string | undefined,
  otherwise?: Micros,
): Micros {
  if (text === undefined && otherwise !== undefined) return otherwise
  try {
    return usd(text ?? DEFAULTS[name])
  } catch (cause) {
    throw new Failure('usage', `${name} is not a dollar amount: ${text}`, 'Such as 0.10', { cause })
  }
}

function readPassword(env: NodeJS.ProcessEnv): string | undefined {
  if (env['HUB_WALLET_PASSWORD'] !== undefined) return env['HUB_WALLET_PASSWORD']
  const file = env['HUB_WALLET_PASSWORD_FILE']
  return file ? readFileSync(file, 'utf8').replace(/\r?\n$/, '') : undefined
}

/** Returns true if errors may be colored, even if the settings cannot be read. */
export const shouldColorErrors = (env: NodeJS.ProcessEnv = process.env): boolean =>
  process.stderr.isTTY && wantsColor({}, env)

/** Follows https://no-color.org: any non-empty value disables color. */
function wantsColor({ color }: Flags, env: NodeJS.ProcessEnv): boolean {
  if (color === false || env['NO_COLOR'] || env['TERM'] === 'dumb') return false
  return Boolean(env['FORCE_COLOR']) || process.stdout.isTTY
}
