import type { Pool } from 'pg'
import { isFamily } from '../catalog/services/declaration.ts'
import { pause } from '../clock.ts'
import type { Log } from '../log.ts'
import type { AnyService } from '../plugin/index.ts'
import { databaseOf, type Entry, type Isolation, parseEntry } from './entry.ts'
import type { Hosted } from './hosting.ts'

export interface PluginSetPorts {
  readonly pool: Pool
  /** Those of HUB_PLUGINS. */
  readonly entries: readonly Entry[]
  /** Slugs of what comes with the hub. */
  readonly taken: ReadonlySet<string>
  readonly open: (entry: Entry) => Promise<Hosted>
  /** Who this is, among all processes of the hub: `host:pid`. */
  readonly process: string
  readonly log: Log
}

/** Where services that change while the hub runs are sold. */
export interface Shop {
  /** Sells it, instead of what was sold at its slug. @throws Error when it cannot be sold */
  put(service: AnyService): Promise<void>
  /** Sells it no more. */
  drop(slug: string): Promise<void>
}

/** What a process says of a plugin. */
export interface Report {
  readonly generation: number
  readonly version?: string
  readonly slug?: string
  readonly isolation?: Isolation
  /** Why it does not run, or why the one before still does. */
  readonly problem?: string
}

interface Row {
  readonly spec: string
  readonly entry: string
  readonly generation: number
  readonly removed: boolean
}

const LOOK_MS = 1_000
/** Every so many looks it is said that this process lives. */
const LOOKS_PER_SIGN = 10

/**
 * The operator's plugins in one process: those of HUB_PLUGINS, and what `hub.plugin` says since.
 * A new version takes new calls, while the old one finishes what it is at. What cannot be opened is
 * told, and changes nothing: neither the rest of the hub, nor the version that runs.
 */
export class PluginSet {
  readonly #ports: PluginSetPorts
  readonly #hosted = new Map<string, Hosted>()
  readonly #reports = new Map<string, Report>()
  /** Finish what they are at. */
  readonly #retiring = new Set<Hosted>()
  readonly #stopping = new AbortController()
  #following: Promise<void> | undefined
  #told = ''
  #looks = 0

  constructor(ports: PluginSetPorts) {
    this.#ports = ports
  }

  /** Opens what there is at the start. */
  async open(): Promise<void> {
    const rows = await this.#rows()
    const named = new Set(rows.map(({ spec }) => spec))
    const first = this.#ports.entries.filter(({ spec }) => !named.has(spec))
    for (const entry of first) await this.#open(entry, 0)
    for (const row of rows)
      if (!row.removed) await this.#open(parseEntry(row.entry), row.generation)
  }

  /** What runs now. */
  get hosted(): readonly Hosted[] {
    return [...this.#hosted.values()]
  }

  /** Sells it, and from now on does what `hub.plugin` says. */
  async follow(shop: Shop): Promise<void> {
    for (const [spec, opened] of this.#hosted) {
      if (isFamily(opened.sold)) continue // sold by the catalogue
      await shop.put(opened.sold).catch((error: unknown) => this.#giveUp(spec, opened, error))
    }
    this.#following = this.#follow(shop)
  }

  async #giveUp(spec: string, opened: Hosted, error: unknown): Promise<void> {
    this.#hosted.delete(spec)
    this.#refuse(spec, this.#reports.get(spec)?.generation ?? 0, error)
    await opened.close()
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#following
    await this.#ports.pool
      .query('DELETE FROM hub.plugin_process WHERE process = $1', [this.#ports.process])
      .catch(() => undefined)
    await Promise.all([...this.hosted, ...this.#retiring].map((each) => each.close()))
  }

  async #follow(shop: Shop): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#look(shop).catch((error: unknown) =>
        this.#ports.log.warn({ err: error }, 'what plugins there are could not be read'),
      )
      await pause(LOOK_MS, signal)
    }
  }

  async #look(shop: Shop): Promise<void> {
    for (const row of await this.#rows()) {
      if (this.#reports.get(row.spec)?.generation === row.generation) continue
      if (row.removed) await this.#remove(row, shop)
      else await this.#change(parseEntry(row.entry), row.generation, shop)
    }
    await this.#tell()
  }

  async #change(entry: Entry, generation: number, shop: Shop): Promise<void> {
    const before = this.#hosted.get(entry.spec)
    const opened = await this.#tryOpen(entry, generation)
    if (!opened) return
    try {
      if (isFamily(opened.sold)) throw new Error('a family takes a restart of the hub')
      await shop.put(opened.sold)
      if (before && slugOf(before) !== slugOf(opened)) await shop.drop(slugOf(before))
    } catch (error) {
      await opened.close()
      return this.#refuse(entry.spec, generation, error)
    }
    this.#take(entry, generation, opened)
    if (before) this.#retire(before)
  }

  async #remove({ spec, generation }: Row, shop: Shop): Promise<void> {
    const before = this.#hosted.get(spec)
    this.#reports.set(spec, { generation })
    if (!before) return
    await shop.drop(slugOf(before))
    this.#hosted.delete(spec)
    this.#retire(before)
  }

  async #open(entry: Entry, generation: number): Promise<void> {
    const opened = await this.#tryOpen(entry, generation)
    if (opened) this.#take(entry, generation, opened)
  }

  async #tryOpen(entry: Entry, generation: number): Promise<Hosted | undefined> {
    try {
      const keeps = databaseOf(entry.lent)
      if (keeps !== undefined && !this.#isFree(keeps, entry.spec)) {
        throw new Error(`the database of ${keeps} is that of another plugin`)
      }
      const opened = await this.#ports.open(entry)
      if (this.#isFree(slugOf(opened), entry.spec)) return opened
      await opened.close()
      throw new Error(`the slug ${slugOf(opened)} is taken`)
    } catch (error) {
      this.#refuse(entry.spec, generation, error)
      return undefined
    }
  }

  #isFree(slug: string, spec: string): boolean {
    const others = [...this.#hosted].filter(([other]) => other !== spec)
    return !this.#ports.taken.has(slug) && !others.some(([, each]) => slugOf(each) === slug)
  }

  #take({ spec }: Entry, generation: number, opened: Hosted): void {
    const { located, isolation } = opened
    this.#hosted.set(spec, opened)
    const { version } = located
    this.#reports.set(spec, { generation, version, slug: slugOf(opened), isolation })
    this.#ports.log.info({ plugin: spec, version, isolation }, 'a plugin was opened')
  }

  /** What ran before runs on. */
  #refuse(spec: string, generation: number, error: unknown): void {
    const problem = (error as Error).message.slice(0, 1_000)
    this.#reports.set(spec, { ...this.#reports.get(spec), generation, problem })
    this.#ports.log.error({ err: error, plugin: spec }, 'a plugin was refused')
  }

  #retire(hosted: Hosted): void {
    const { spec: plugin } = hosted.located
    this.#retiring.add(hosted)
    void hosted
      .retire()
      .catch((error: unknown) =>
        this.#ports.log.warn({ err: error, plugin }, 'a plugin ended badly'),
      )
      .finally(() => this.#retiring.delete(hosted))
  }

  async #rows(): Promise<readonly Row[]> {
    const { rows } = await this.#ports.pool.query<Row>(
      'SELECT spec, entry, generation, removed FROM hub.plugin ORDER BY spec',
    )
    return rows
  }

  /** Says what this process runs, when that has changed and now and then. */
  async #tell(): Promise<void> {
    const text = JSON.stringify(Object.fromEntries(this.#reports))
    if (text === this.#told && ++this.#looks % LOOKS_PER_SIGN !== 0) return
    await this.#ports.pool.query(
      `WITH gone AS (
         DELETE FROM hub.plugin_process WHERE seen_at < now() - interval '1 day')
       INSERT INTO hub.plugin_process (process, plugins) VALUES ($1, $2)
       ON CONFLICT (process) DO UPDATE SET plugins = $2, seen_at = now()`,
      [this.#ports.process, text],
    )
    this.#told = text
  }
}

const slugOf = ({ sold }: Hosted): string => (isFamily(sold) ? sold.family : sold.slug)
