import type { Pool } from 'pg'
import { elapsedMs } from '../../clock.ts'
import { inTransaction } from '../../db/transaction.ts'
import { inFlight } from '../../in-flight.ts'
import type { AccountRef } from '../../ledger/ledger.ts'
import type { AnyService, Family, Route } from '../../plugin/index.ts'
import { commissionBps } from '../../usage/commission.ts'
import { declare } from './declaration.ts'
import {
  digestOf,
  type EndpointRow,
  type Offering,
  routesOf,
  type Terms,
  type Written,
  writeService,
  writtenOf,
} from './publish.ts'

/** The endpoints of a service by `METHOD /path`. */
export type Routes = ReadonlyMap<string, Offering>

export interface FamiliesPorts {
  readonly pool: Pool
  readonly families: readonly Family[]
  readonly terms: Terms
  /** Opens the account that a service earns on. */
  readonly payee: (service: AnyService) => Promise<AccountRef>
}

/** A change takes effect within this time on every process. */
const CACHE_MS = 1_000
const CACHE_MAX = 10_000

interface ServiceRow {
  readonly family: string
  readonly digest: string | null
  readonly state: 'active' | 'unlisted'
  readonly rule: number | null
  readonly endpoints: Readonly<Record<Route, EndpointRow>>
}

const FIND = {
  name: 'families.find',
  text: `SELECT s.family, s.digest, s.state, hub.commission_of(s.provider, s.slug) AS rule,
      (SELECT coalesce(json_object_agg(e.method || ' ' || e.path,
          json_build_object('id', e.id, 'version', v.version, 'bps', v.commission_bps)), '{}')
        FROM hub.endpoint e JOIN LATERAL (SELECT version, commission_bps FROM hub.price
          WHERE endpoint = e.id ORDER BY version DESC LIMIT 1) v ON true
        WHERE e.service = s.slug AND e.state = 'active') AS endpoints
    FROM hub.service s
    WHERE s.slug = $1 AND s.family IS NOT NULL AND s.state <> 'retired'`,
}

/**
 * Services of families, found by their slugs. A family says what is sold; the catalogue follows:
 * it is written when it differs, by whoever sees that first, so nothing is lost if the one who made
 * the change dies. A service that is called is asked for once a second by each process.
 */
export class Families {
  readonly #ports: FamiliesPorts
  readonly #known = new Map<string, { readonly routes: Routes; readonly at: number }>()

  constructor(ports: FamiliesPorts) {
    this.#ports = ports
  }

  async find(slug: string): Promise<Routes | undefined> {
    const known = this.#known.get(slug)
    return known && elapsedMs() - known.at < CACHE_MS ? known.routes : this.#look(slug)
  }

  /** The first services of each family. */
  async first(): Promise<readonly AnyService[]> {
    const pages = this.#ports.families.map((family) => family.list(''))
    return (await Promise.all(pages)).flat()
  }

  /** What a family would sell under a slug. */
  async preview(name: string, slug: string): Promise<AnyService | undefined> {
    return this.#ports.families.find(({ family }) => family === name)?.preview?.(slug)
  }

  /** Writes what has become of a service, which may be new. */
  async refresh(slug: string): Promise<void> {
    await this.#read(slug, this.#ports.families)
  }

  async refreshAll(): Promise<void> {
    for (const family of this.#ports.families) {
      let after: string | undefined = ''
      while (after !== undefined) after = await this.#refreshPage(family, after)
    }
  }

  /** @returns the last slug of the page, unless there are no more */
  async #refreshPage(family: Family, after: string): Promise<string | undefined> {
    const sold = new Map((await family.list(after)).map((service) => [service.slug, service]))
    const last = [...sold.keys()].at(-1)
    const { rows } = await this.#ports.pool.query<{ slug: string; digest: string | null }>(
      `SELECT slug, digest FROM hub.service WHERE family = $1 AND state = 'active'
         AND slug > $2 AND ($3::text IS NULL OR slug <= $3)`,
      [family.family, after, last],
    )
    const listed = new Map(rows.map(({ slug, digest }) => [slug, digest]))
    for (const [slug, service] of sold) {
      if (listed.get(slug) !== digestOf(service)) await this.refresh(slug)
    }
    for (const slug of listed.keys()) if (!sold.has(slug)) await this.refresh(slug)
    if (last !== undefined && last <= after) throw new Error(`${family.family}: list turned back`)
    return last
  }

  /** Asked once for all who call the service at the same time. */
  readonly #look = inFlight((slug: string) => this.#read(slug, []))

  /** @param candidates families that may have a service which the catalogue does not know yet */
  async #read(slug: string, candidates: readonly Family[]): Promise<Routes | undefined> {
    const at = elapsedMs()
    const { pool, families } = this.#ports
    const { rows } = await pool.query<ServiceRow>({ ...FIND, values: [slug] })
    const [row] = rows
    const asked = row ? families.filter(({ family }) => family === row.family) : candidates
    for (const family of asked) {
      const service = await family.find(slug)
      if (service) return this.#keep(slug, await this.#offer(family, slug, service, row), at)
    }
    if (row?.state === 'active') await this.#unlist(slug)
    this.#known.delete(slug)
    return undefined
  }

  /** What is sold of a service, written first if the catalogue has it otherwise. */
  async #offer(
    { family }: Family,
    slug: string,
    service: AnyService,
    row: ServiceRow | undefined,
  ): Promise<Routes> {
    if (service.slug !== slug) throw new Error(`${family}: ${slug} was found as ${service.slug}`)
    const isWritten = row?.state === 'active' && row.digest === digestOf(service)
    const written = isWritten ? this.#asWritten(service, row) : undefined
    const offerings = written ?? (await this.#write(family, declare(service)))
    const payee = await this.#ports.payee(service)
    return new Map(offerings.map((o) => [`${o.method} ${o.path}`, { ...o, payee }]))
  }

  /** Undefined when the commission was changed since. */
  #asWritten(service: AnyService, row: ServiceRow): readonly Written[] | undefined {
    const bps = commissionBps(service.provider, row.rule, this.#ports.terms.defaultCommissionBps)
    const known = routesOf(service).map(([route]) => row.endpoints[route])
    if (known.some((endpoint) => endpoint?.bps !== bps)) return undefined
    return routesOf(service).map(([route, endpoint]) =>
      writtenOf(service, route, endpoint, row.endpoints[route]!),
    )
  }

  #write(family: string, service: AnyService): Promise<readonly Written[]> {
    const { pool, terms } = this.#ports
    const routes = routesOf(service).map(([route]) => route)
    return inTransaction(pool, async (client) => {
      const written = await writeService(client, service, terms, family)
      await client.query(
        `UPDATE hub.endpoint SET state = 'retired'
         WHERE service = $1 AND state = 'active' AND method || ' ' || path <> ALL ($2)`,
        [service.slug, routes],
      )
      await client.query('SELECT hub.index_service($1)', [service.slug])
      return written
    })
  }

  async #unlist(slug: string): Promise<void> {
    await inTransaction(this.#ports.pool, async (client) => {
      await client.query(
        `UPDATE hub.service SET state = 'unlisted', updated_at = now()
         WHERE slug = $1 AND state = 'active'`,
        [slug],
      )
      await client.query('SELECT hub.index_service($1)', [slug])
    })
  }

  /** What was read later is not replaced by what was read before. */
  #keep(slug: string, routes: Routes, at: number): Routes {
    const known = this.#known.get(slug)
    if (known && known.at > at) return routes
    this.#known.delete(slug)
    this.#known.set(slug, { routes, at })
    const [oldest] = this.#known.keys()
    if (this.#known.size > CACHE_MAX && oldest !== undefined) this.#known.delete(oldest)
    return routes
  }
}
