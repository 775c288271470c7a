import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import type { AccountRef } from '../../ledger/ledger.ts'
import type { AnyService, Family, Route } from '../../plugin/index.ts'
import { LoadingCache } from '../../runtime/cache.ts'
import { commissionBps } from '../../usage/commission.ts'
import { validateService } from './declaration.ts'
import {
  digestOf,
  type EndpointRow,
  type Offering,
  type PublishedEndpoint,
  publishedEndpoint,
  replaceService,
  routesOf,
  type SalesTerms,
} from './publish.ts'

/** Endpoints of a service by `METHOD /path`. */
export type Routes = ReadonlyMap<string, Offering>

export interface FamiliesDeps {
  readonly pool: Pool
  readonly families: readonly Family[]
  readonly terms: SalesTerms
  /** Opens the ledger account for the earnings of a service. */
  readonly payee: (service: AnyService) => Promise<AccountRef>
  /** See `TtlOptions`. */
  readonly now?: (() => number) | undefined
}

/** Maximum delay until every process applies a change. */
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
 * Finds services of families by slug. The family is the source of truth: any process that sees a
 * difference updates the catalog, so no change is lost if the process that made it dies. Each
 * process rereads a called service at most once a second.
 */
export class Families {
  readonly #deps: FamiliesDeps
  readonly #cache: LoadingCache<string, Routes | undefined>

  constructor(deps: FamiliesDeps) {
    this.#deps = deps
    this.#cache = new LoadingCache((slug) => this.#read(slug, []), {
      ttlMs: CACHE_MS,
      max: CACHE_MAX,
      now: deps.now,
    })
  }

  /** Returns a promise only if the service must be read first. */
  find(slug: string): Routes | Promise<Routes | undefined> {
    return this.#cache.get(slug) ?? this.#cache.load(slug)
  }

  /** Lists the first page of each family. */
  async firstPages(): Promise<readonly AnyService[]> {
    const pages = this.#deps.families.map((family) => family.list(''))
    return (await Promise.all(pages)).flat()
  }

  /** Returns the service that a family would sell under a slug. */
  async preview(name: string, slug: string): Promise<AnyService | undefined> {
    return this.#deps.families.find(({ family }) => family === name)?.preview?.(slug)
  }

  /** Rereads a service, which may be new, and updates the catalog. */
  async refresh(slug: string): Promise<void> {
    await this.#cache.refresh(slug, () => this.#read(slug, this.#deps.families))
  }

  async refreshAll(): Promise<void> {
    for (const family of this.#deps.families) {
      let after: string | undefined = ''
      while (after !== undefined) after = await this.#refreshPage(family, after)
    }
  }

  /** @returns the last slug of the page; undefined after the last page */
  async #refreshPage(family: Family, after: string): Promise<string | undefined> {
    const page = new Map((await family.list(after)).map((service) => [service.slug, service]))
    const last = [...page.keys()].at(-1)
    const { rows } = await this.#deps.pool.query<{ slug: string; digest: string | null }>(
      `SELECT slug, digest FROM hub.service WHERE family = $1 AND state = 'active'
         AND slug > $2 AND ($3::text IS NULL OR slug <= $3)`,
      [family.family, after, last],
    )
    const listed = new Map(rows.map(({ slug, digest }) => [slug, digest]))
    for (const [slug, service] of page) {
      if (listed.get(slug) !== digestOf(service)) await this.refresh(slug)
    }
    for (const slug of listed.keys()) if (!page.has(slug)) await this.refresh(slug)
    if (last !== undefined && last <= after) {
      throw new Error(`family ${family.family}: list() did not advance past its argument`)
    }
    return last
  }

  /** @param candidates families to ask for a service that is not in the catalog */
  async #read(slug: string, candidates: readonly Family[]): Promise<Routes | undefined> {
    const { pool, families } = this.#deps
    const { rows } = await pool.query<ServiceRow>({ ...FIND, values: [slug] })
    const [row] = rows
    const possible = row ? families.filter(({ family }) => family === row.family) : candidates
    for (const family of possible) {
      const service = await family.find(slug)
      if (service) return this.#offersOf(family, slug, service, row)
    }
    if (row?.state === 'active') await this.#unlist(slug)
    return undefined
  }

  /** Returns the offerings of a service, after updating the catalog if it differs. */
  async #offersOf(
    { family }: Family,
    slug: string,
    service: AnyService,
    row: ServiceRow | undefined,
  ): Promise<Routes> {
    if (service.slug !== slug) {
      throw new Error(`family ${family}: find(${slug}) returned service ${service.slug}`)
    }
    const isCurrent = row?.state === 'active' && row.digest === digestOf(service)
    const unchanged = isCurrent ? this.#unchanged(service, row) : undefined
    const offerings = unchanged ?? (await this.#write(family, validateService(service)))
    const payee = await this.#deps.payee(service)
    return new Map(offerings.map((o) => [`${o.method} ${o.path}`, { ...o, payee }]))
  }

  /** Returns the endpoints from the catalog; undefined if the commission has changed. */
  #unchanged(service: AnyService, row: ServiceRow): readonly PublishedEndpoint[] | undefined {
    const bps = commissionBps(service.provider, row.rule, this.#deps.terms.defaultCommissionBps)
    const known = routesOf(service).map(([route]) => row.endpoints[route])
    if (known.some((endpoint) => endpoint?.bps !== bps)) return undefined
    return routesOf(service).map(([route, endpoint]) =>
      publishedEndpoint(service, route, endpoint, row.endpoints[route]!),
    )
  }

  #write(family: string, service: AnyService): Promise<readonly PublishedEndpoint[]> {
    const { pool, terms } = this.#deps
    return inTransaction(pool, (client) => replaceService(client, service, terms, family))
  }

  async #unlist(slug: string): Promise<void> {
    await inTransaction(this.#deps.pool, async (client) => {
      await client.query(
        `UPDATE hub.service SET state = 'unlisted', updated_at = now()
         WHERE slug = $1 AND state = 'active'`,
        [slug],
      )
      await client.query('SELECT hub.index_service($1)', [slug])
    })
  }
}
