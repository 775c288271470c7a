import type { Pool } from 'pg'
import { isFamily } from '../catalog/services/declaration.ts'
import { pause } from '../clock.ts'
import type { Log } from '../log.ts'
import { logFailure } from '../outages.ts'
import type { AnyService } from '../plugin/index.ts'
import { type Isolation, injectedDatabaseOf, type PluginEntry, parseEntry } from './entry.ts'
import type { HostedPlugin } from './host-plugin.ts'

export interface PluginSetDeps {
  readonly pool: Pool
  /** Entries of HUB_PLUGINS. */
  readonly entries: readonly PluginEntry[]
  /** Slugs of first-party services. */
  readonly reservedSlugs: ReadonlySet<string>
  readonly open: (entry: PluginEntry) => Promise<HostedPlugin>
  /** Id of this process, unique across the hub: `host:pid`. */
  readonly process: string
  readonly log: Log
}

/** Publishes services that change while the hub runs. */
export interface ServiceSales {
  /** Publishes a service, replacing that of the same slug. @throws Error if it cannot be sold */
  put(service: AnyService): Promise<void>
  /** Withdraws a service. */
  drop(slug: string): Promise<void>
}

/** State of a plugin in one process. */
export interface PluginReport {
  readonly generation: number
  readonly version?: string
  readonly slug?: string
  readonly isolation?: Isolation
  /** Why the plugin does not run, or still runs in its previous version. */
  readonly problem?: string
}

interface Row {
  readonly spec: string
  readonly entry: string
  readonly generation: number
  readonly removed: boolean
}

const POLL_MS = 1_000
/** The report is written every this many polls even if unchanged, as a heartbeat. */
const POLLS_PER_HEARTBEAT = 10

/**
 * The operator's plugins in one process: the entries of HUB_PLUGINS, updated from the table
 * `hub.plugin`. New calls go to a new version while the old one finishes its calls. A plugin that
 * cannot be opened is reported, and affects neither the rest of the hub nor its running version.
 */
export class PluginSet {
  readonly #deps: PluginSetDeps
  readonly #hosted = new Map<string, HostedPlugin>()
  readonly #reports = new Map<string, PluginReport>()
  /** Replaced plugins with pending calls. */
  readonly #retiring = new Set<HostedPlugin>()
  readonly #stopping = new AbortController()
  #pollLoop: Promise<void> | undefined
  #lastReport = ''
  #pollCount = 0

  constructor(ports: PluginSetDeps) {
    this.#deps = ports
  }

  /** Opens the plugins configured at start. */
  async open(): Promise<void> {
    const rows = await this.#rows()
    const named = new Set(rows.map(({ spec }) => spec))
    const first = this.#deps.entries.filter(({ spec }) => !named.has(spec))
    for (const entry of first) await this.#open(entry, 0)
    for (const row of rows)
      if (!row.removed) await this.#open(parseEntry(row.entry), row.generation)
  }

  /** Running plugins. */
  get hosted(): readonly HostedPlugin[] {
    return [...this.#hosted.values()]
  }

  /** Publishes the plugins, and follows changes of `hub.plugin` from now on. */
  async follow(shop: ServiceSales): Promise<void> {
    for (const [spec, opened] of this.#hosted) {
      if (isFamily(opened.declaration)) continue // published by the catalog
      await shop
        .put(opened.declaration)
        .catch((error: unknown) => this.#withdraw(spec, opened, error))
    }
    this.#pollLoop = this.#follow(shop)
  }

  async #withdraw(spec: string, opened: HostedPlugin, error: unknown): Promise<void> {
    this.#hosted.delete(spec)
    this.#reject(spec, this.#reports.get(spec)?.generation ?? 0, error)
    await opened.close()
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#pollLoop
    await this.#deps.pool
      .query('DELETE FROM hub.plugin_process WHERE process = $1', [this.#deps.process])
      .catch(() => undefined)
    await Promise.all([...this.hosted, ...this.#retiring].map((each) => each.close()))
  }

  async #follow(shop: ServiceSales): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#poll(shop).catch((err: unknown) =>
        logFailure(this.#deps.log, 'warn', { err }, 'failed to read the list of plugins'),
      )
      await pause(POLL_MS, signal)
    }
  }

  async #poll(shop: ServiceSales): Promise<void> {
    for (const row of await this.#rows()) {
      if (this.#reports.get(row.spec)?.generation === row.generation) continue
      if (row.removed) await this.#remove(row, shop)
      else await this.#change(parseEntry(row.entry), row.generation, shop)
    }
    await this.#report()
  }

  async #change(entry: PluginEntry, generation: number, shop: ServiceSales): Promise<void> {
    const before = this.#hosted.get(entry.spec)
    const opened = await this.#tryOpen(entry, generation)
    if (!opened) return
    try {
      if (isFamily(opened.declaration)) throw new Error('a family requires a restart of the hub')
      await shop.put(opened.declaration)
      if (before && slugOf(before) !== slugOf(opened)) await shop.drop(slugOf(before))
    } catch (error) {
      await opened.close()
      return this.#reject(entry.spec, generation, error)
    }
    this.#adopt(entry, generation, opened)
    if (before) this.#retire(before)
  }

  async #remove({ spec, generation }: Row, shop: ServiceSales): Promise<void> {
    const before = this.#hosted.get(spec)
    this.#reports.set(spec, { generation })
    if (!before) return
    await shop.drop(slugOf(before))
    this.#hosted.delete(spec)
    this.#retire(before)
  }

  async #open(entry: PluginEntry, generation: number): Promise<void> {
    const opened = await this.#tryOpen(entry, generation)
    if (opened) this.#adopt(entry, generation, opened)
  }

  async #tryOpen(entry: PluginEntry, generation: number): Promise<HostedPlugin | undefined> {
    try {
      const database = injectedDatabaseOf(entry.injected)
      if (database !== undefined && !this.#isFree(database, entry.spec)) {
        throw new Error(`the database of ${database} belongs to another plugin`)
      }
      const opened = await this.#deps.open(entry)
      if (this.#isFree(slugOf(opened), entry.spec)) return opened
      await opened.close()
      throw new Error(`the slug ${slugOf(opened)} is taken`)
    } catch (error) {
      this.#reject(entry.spec, generation, error)
      return undefined
    }
  }

  #isFree(slug: string, spec: string): boolean {
    const others = [...this.#hosted].filter(([other]) => other !== spec)
    return !this.#deps.reservedSlugs.has(slug) && !others.some(([, each]) => slugOf(each) === slug)
  }

  #adopt({ spec }: PluginEntry, generation: number, opened: HostedPlugin): void {
    const { located, isolation } = opened
    this.#hosted.set(spec, opened)
    const { version } = located
    this.#reports.set(spec, { generation, version, slug: slugOf(opened), isolation })
    this.#deps.log.info({ plugin: spec, version, isolation }, 'opened a plugin')
  }

  /** Records an error; the previous version keeps running. */
  #reject(spec: string, generation: number, error: unknown): void {
    const problem = (error as Error).message.slice(0, 1_000)
    this.#reports.set(spec, { ...this.#reports.get(spec), generation, problem })
    this.#deps.log.error({ err: error, plugin: spec }, 'refused a plugin')
  }

  #retire(hosted: HostedPlugin): void {
    const { spec: plugin } = hosted.located
    this.#retiring.add(hosted)
    void hosted
      .retire()
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error, plugin }, 'failed to close a plugin'),
      )
      .finally(() => this.#retiring.delete(hosted))
  }

  async #rows(): Promise<readonly Row[]> {
    const { rows } = await this.#deps.pool.query<Row>(
      'SELECT spec, entry, generation, removed FROM hub.plugin ORDER BY spec',
    )
    return rows
  }

  /** Stores the reports of this process if they have changed, or as a heartbeat. */
  async #report(): Promise<void> {
    const text = JSON.stringify(Object.fromEntries(this.#reports))
    if (text === this.#lastReport && ++this.#pollCount % POLLS_PER_HEARTBEAT !== 0) return
    await this.#deps.pool.query(
      `WITH gone AS (
         DELETE FROM hub.plugin_process WHERE seen_at < now() - interval '1 day')
       INSERT INTO hub.plugin_process (process, plugins) VALUES ($1, $2)
       ON CONFLICT (process) DO UPDATE SET plugins = $2, seen_at = now()`,
      [this.#deps.process, text],
    )
    this.#lastReport = text
  }
}

const slugOf = ({ declaration }: HostedPlugin): string =>
  isFamily(declaration) ? declaration.family : declaration.slug
