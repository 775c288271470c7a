import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { OpenedPlugin, PluginDeps } from '../catalog/services/open-plugin.ts'
import { openPlugin, schemaOf } from '../catalog/services/open-plugin.ts'
import { elapsedMs, unrefSleep, withTimeout } from '../clock.ts'
import type { Host, Plugin } from '../plugin/index.ts'
import { PendingTasks } from '../runtime/pending-tasks.ts'
import {
  type Isolation,
  injectedDatabaseOf,
  type PluginEntry,
  stricterIsolation,
  writeEntry,
} from './entry.ts'
import { InjectedDatabase } from './injected-database.ts'
import { IsolatedPlugin } from './isolated-plugin.ts'
import { serviceOf } from './isolated-service.ts'
import { type LocatedPlugin, locate } from './locate.ts'
import { importFresh } from './modules.ts'
import { NODE_REQUIRED, runInProcess, runInWorker } from './runtime.ts'
import type { HostingSettings } from './settings.ts'
import { trackCalls } from './track-calls.ts'

/** Opened plugin of the operator. */
export interface HostedPlugin extends OpenedPlugin {
  readonly located: LocatedPlugin
  readonly isolation: Isolation
  /** Closes it after its pending calls have ended. */
  retire(): Promise<void>
}

/** Dependencies of hosted plugins. */
export interface HostingDeps extends PluginDeps {
  /** Derives the valid passwords of a plugin's database role, the current one first. */
  readonly passwordsOf: (role: string) => readonly [string, ...string[]]
  /** Reads the passwords again, after the server refused one. @defaultValue they never change */
  readonly reloadPasswords?: () => Promise<void>
}

/** Time for calls with a computed price to reach their handler before the plugin is closed. */
const HANDOVER_MS = 5_000
/** Slightly more than the longest call. */
const LONGEST_CALL_MS = 330_000

/**
 * Opens a plugin with the stricter of the isolation levels required by the operator and by its
 * package.
 * @throws Error with the reason if the plugin cannot be sold
 */
export async function hostPlugin(
  entry: PluginEntry,
  deps: HostingDeps,
  settings: HostingSettings,
): Promise<HostedPlugin> {
  const located = await locate(entry.spec)
  const isolation = stricterIsolation(entry.isolation ?? 'inline', located.isolation)
  const limited = { ...deps, host: { ...deps.host, log: limitedLog(deps.host.log) } }
  const opened = await (isolation === 'inline'
    ? openPlugin(await importPlugin(located), limited)
    : openIsolated(entry, located, isolation, {
        deps: limited,
        settings,
        openDatabase: () => openInjectedDatabase(entry, located, limited),
      }))
  const pendingCalls = new PendingTasks()
  const declaration = trackCalls(opened.declaration, pendingCalls)
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= opened.close())
  return {
    located,
    isolation,
    declaration,
    close,
    async retire() {
      await withTimeout(LONGEST_CALL_MS, pendingCalls.idle())
      await unrefSleep(HANDOVER_MS)
      await withTimeout(LONGEST_CALL_MS, pendingCalls.idle())
      await close()
    },
  }
}

/** Checks a plugin without its database. @throws Error if it cannot be sold */
export async function examinePlugin(
  entry: PluginEntry,
  deps: PluginDeps,
  settings: HostingSettings,
): Promise<void> {
  const located = await locate(entry.spec)
  const isolation = stricterIsolation(entry.isolation ?? 'inline', located.isolation)
  if (isolation !== 'inline') {
    const opened = await openIsolated(entry, located, isolation, { deps, settings })
    return opened.close()
  }
  const plugin = await importPlugin(located)
  if (!('open' in plugin)) await openPlugin(plugin, deps)
}

async function importPlugin({ spec, entry, folder }: LocatedPlugin): Promise<Plugin> {
  const plugin = await importFresh(entry, folder)
  if (typeof plugin === 'function' || (typeof plugin === 'object' && plugin !== null)) {
    return plugin as Plugin
  }
  throw new Error(`plugin ${spec}: the default export of its module is not a plugin`)
}

interface IsolationDeps {
  readonly deps: PluginDeps
  readonly settings: HostingSettings
  /** Missing if the plugin is only examined. */
  readonly openDatabase?: () => Promise<InjectedDatabase | undefined>
}

async function openIsolated(
  entry: PluginEntry,
  located: LocatedPlugin,
  isolation: Exclude<Isolation, 'inline'>,
  { deps, settings, openDatabase }: IsolationDeps,
): Promise<OpenedPlugin> {
  assertInjected(entry, located, isolation)
  const isReady = isolation !== 'process' || (await blocksSockets(settings.node))
  if (!isReady) throw new Error(NODE_REQUIRED)
  const plugin = new IsolatedPlugin({
    located,
    injected: entry.injected,
    database: await openDatabase?.(),
    launch: (onText) =>
      isolation === 'worker'
        ? runInWorker(settings, onText)
        : runInProcess(settings, located, onText),
    host: deps.host,
    clock: deps.host.clock,
    backOffMs: settings.backOffMs,
  })
  const declared = await plugin.open()
  try {
    const service = serviceOf(declared, plugin)
    return { ...(await openPlugin(service, deps)), close: () => plugin.close() }
  } catch (error) {
    await plugin.close()
    throw error
  }
}

/** Opens the database named by the operator, if any. */
async function openInjectedDatabase(
  { injected }: PluginEntry,
  { folder }: LocatedPlugin,
  { databaseUrl, servingUrl, log, passwordsOf, reloadPasswords }: HostingDeps,
): Promise<InjectedDatabase | undefined> {
  const slug = injectedDatabaseOf(injected)
  if (slug === undefined) return undefined
  const role = schemaOf(slug)
  const passwords = () => passwordsOf(role)
  const urls = { ownerUrl: databaseUrl, servingUrl: servingUrl ?? databaseUrl! }
  return InjectedDatabase.open({ ...urls, role, passwords, reloadPasswords, folder, log })
}

/** @throws Error with instructions if a required capability is not injected */
function assertInjected(
  entry: PluginEntry,
  { spec, needs }: LocatedPlugin,
  isolation: Isolation,
): void {
  const injected: readonly string[] = entry.injected
  const missing = needs.filter((name) => !injected.includes(name))
  if (missing.length === 0) return
  const whole = writeEntry({
    spec,
    isolation,
    injected: [...entry.injected, ...missing] as PluginEntry['injected'],
  })
  throw new Error(`plugin ${spec} needs ${missing.join(', ')}; to inject it: HUB_PLUGINS=${whole}`)
}

const run = promisify(execFile)
const BLOCKS_SOCKETS_SCRIPT =
  "process.stdout.write(String(process.allowedNodeEnvironmentFlags.has('--allow-net')))"

/** Returns true if the permission model of a Node covers sockets (26 or newer). */
export async function blocksSockets(node: string): Promise<boolean> {
  const output = run(node, ['-e', BLOCKS_SOCKETS_SCRIPT], { env: {}, timeout: 10_000 })
  return output.then(
    ({ stdout }) => stdout === 'true',
    () => false,
  )
}

const LINES_PER_SECOND = 20
const BURST = 200
const TEXT_MAX = 2_000
const FIELDS_MAX = 4_000

/** Limits a log to 20 lines a second (burst of 200), counting the others; truncates long lines. */
export function limitedLog(log: Host['log']): Host['log'] {
  let room = BURST
  let at = elapsedMs()
  let dropped = 0
  return (message, fields) => {
    const now = elapsedMs()
    room = Math.min(BURST, room + ((now - at) / 1_000) * LINES_PER_SECOND)
    at = now
    if (room < 1) {
      dropped += 1
      return
    }
    room -= 1
    const cut = fields && fieldsOf(fields)
    log(textOf(message).slice(0, TEXT_MAX), dropped > 0 ? { ...cut, dropped_before: dropped } : cut)
    dropped = 0
  }
}

/** Converts a message to text: plugins may pass any value. */
const textOf = (message: unknown): string => String(message)

function fieldsOf(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  try {
    const text = JSON.stringify(fields, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    )
    return text.length <= FIELDS_MAX ? fields : { cut: text.slice(0, FIELDS_MAX) }
  } catch {
    return { cut: 'not as JSON' }
  }
}
