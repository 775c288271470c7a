import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Lending, OpenedPlugin } from '../catalog/services/plugins.ts'
import { openPlugin, schemaOf } from '../catalog/services/plugins.ts'
import { patience, within } from '../clock.ts'
import type { Plugin } from '../plugin/index.ts'
import { UnderWay } from '../runtime/pending-tasks.ts'
import { databaseOf, type Entry, further, type Isolation, writeEntry } from './entry.ts'
import { Apart } from './isolated-plugin.ts'
import { serviceOf } from './isolated-service.ts'
import { LentDatabase } from './lent-database.ts'
import { type Located, locate } from './locate.ts'
import { limitedLog } from './log-limit.ts'
import { importAnew } from './modules.ts'
import { NO_NODE, sitInProcess, sitInWorker } from './runtime.ts'
import type { HostingSettings } from './settings.ts'
import { counted } from './track-calls.ts'

/** A plugin of the operator's, opened. */
export interface Hosted extends OpenedPlugin {
  readonly located: Located
  readonly isolation: Isolation
  /** Ends it once what it is at has come to its end. */
  retire(): Promise<void>
}

/** What plugins that run apart are lent besides. */
export interface HostLending extends Lending {
  /** The password of a role that logs in by itself: every process of the hub says the same one. */
  readonly passwordOf: (role: string) => string
}

/** A call that has its price, and is not yet at its handler, has this long to come there. */
const RETIRE_MS = 5_000
/** A little more than any call takes. */
const LONGEST_MS = 330_000

/**
 * Opens a plugin as far from the hub as the operator and its package want it to be. Its code is run
 * inline only where both trust it.
 * @throws Error that says why it cannot be sold
 */
export async function host(
  entry: Entry,
  lending: HostLending,
  settings: HostingSettings,
): Promise<Hosted> {
  const located = await locate(entry.spec)
  const isolation = further(entry.isolation ?? 'inline', located.isolation)
  const own = { ...lending, host: { ...lending.host, log: limitedLog(lending.host.log) } }
  const opened = await (isolation === 'inline'
    ? openInline(located, own)
    : openApart(entry, located, isolation, {
        lending: own,
        settings,
        lendDatabase: () => lendDatabase(entry, located, own),
      }))
  const underWay = new UnderWay()
  const sold = counted(opened.sold, underWay)
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= opened.close())
  return {
    located,
    isolation,
    sold,
    close,
    async retire() {
      await within(LONGEST_MS, underWay.idle())
      await patience(RETIRE_MS)
      await within(LONGEST_MS, underWay.idle())
      await close()
    },
  }
}

/**
 * Looks at a plugin without selling it, and without its database.
 * @throws Error that says why it cannot be sold
 */
export async function examine(
  entry: Entry,
  lending: Lending,
  settings: HostingSettings,
): Promise<void> {
  const located = await locate(entry.spec)
  const isolation = further(entry.isolation ?? 'inline', located.isolation)
  if (isolation !== 'inline') {
    const opened = await openApart(entry, located, isolation, { lending, settings })
    return opened.close()
  }
  const plugin = await importPlugin(located)
  if (!('open' in plugin)) await openPlugin(plugin, lending)
}

const openInline = async (located: Located, lending: Lending): Promise<OpenedPlugin> =>
  openPlugin(await importPlugin(located), lending)

async function importPlugin({ spec, entry, folder }: Located): Promise<Plugin> {
  const plugin = await importAnew(entry, folder)
  if (typeof plugin === 'function' || (typeof plugin === 'object' && plugin !== null)) {
    return plugin as Plugin
  }
  throw new Error(`plugin ${spec}: the default export of its module is no plugin`)
}

interface ApartPorts {
  readonly lending: Lending
  readonly settings: HostingSettings
  /** Left out where the plugin is only looked at. */
  readonly lendDatabase?: () => Promise<LentDatabase | undefined>
}

async function openApart(
  entry: Entry,
  located: Located,
  isolation: Exclude<Isolation, 'inline'>,
  { lending, settings, lendDatabase }: ApartPorts,
): Promise<OpenedPlugin> {
  assertLent(entry, located, isolation)
  if (isolation === 'process') await assertSealed(settings.node)
  const apart = new Apart({
    located,
    lent: entry.lent,
    database: await lendDatabase?.(),
    sit: (onText) =>
      isolation === 'worker'
        ? sitInWorker(settings, onText)
        : sitInProcess(settings, located, onText),
    host: lending.host,
    clock: lending.host.clock,
    backOffMs: settings.backOffMs,
  })
  const declared = await apart.open()
  try {
    const service = serviceOf(declared, apart)
    return { ...(await openPlugin(service, lending)), close: () => apart.close() }
  } catch (error) {
    await apart.close()
    throw error
  }
}

/** The database that the operator named; the plugin can come by no other one. */
async function lendDatabase(
  { lent }: Entry,
  { folder }: Located,
  { databaseUrl: url, log, passwordOf }: HostLending,
): Promise<LentDatabase | undefined> {
  const slug = databaseOf(lent)
  if (slug === undefined) return undefined
  const role = schemaOf(slug)
  return LentDatabase.open({ url, role, password: passwordOf(role), folder, log })
}

/** @throws Error that says how to lend what it needs */
function assertLent(entry: Entry, { spec, needs }: Located, isolation: Isolation): void {
  const lent: readonly string[] = entry.lent
  const missing = needs.filter((name) => !lent.includes(name))
  if (missing.length === 0) return
  const whole = writeEntry({ spec, isolation, lent: [...entry.lent, ...missing] as Entry['lent'] })
  throw new Error(`plugin ${spec} needs ${missing.join(', ')}; to lend it: HUB_PLUGINS=${whole}`)
}

const run = promisify(execFile)
const SEALS = "process.stdout.write(String(process.allowedNodeEnvironmentFlags.has('--allow-net')))"

/** Whether the permission model of a Node covers sockets: before 26 it does not. */
export async function isSealed(node: string): Promise<boolean> {
  const asked = run(node, ['-e', SEALS], { env: {}, timeout: 10_000 })
  return asked.then(
    ({ stdout }) => stdout === 'true',
    () => false,
  )
}

async function assertSealed(node: string): Promise<void> {
  if (!(await isSealed(node))) throw new Error(NO_NODE)
}
