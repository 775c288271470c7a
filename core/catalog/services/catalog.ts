import type { Pool, PoolClient } from 'pg'
import { elapsedMs } from '../../clock.ts'
import { inTransaction } from '../../db/transaction.ts'
import type { AccountRef, Ledger } from '../../ledger/ledger.ts'
import { EXTERNAL_SELLERS, earningsOf } from '../../ledger/postings.ts'
import type { AnyService, Family } from '../../plugin/index.ts'
import { singleFlight } from '../../runtime/cache.ts'
import { commissionBps, PLATFORM_PROVIDER } from '../../usage/commission.ts'
import { Families, type Routes } from './families.ts'
import {
  currentState,
  type Offering,
  type PublishedEndpoint,
  publishService,
  routesOf,
  type SalesTerms,
  writeService,
} from './publish.ts'
import { Suspensions } from './suspension.ts'

export { maxPrice, meteredPrice, type Offering } from './publish.ts'

/** Endpoint as shown in API documents. */
export type CatalogEntry = Pick<Offering, 'service' | 'endpoint' | 'method' | 'path'> & {
  /** True if its price goes to an external seller. */
  readonly isPassThrough: boolean
}

interface CatalogDeps {
  readonly families: Families
  readonly suspensions: Suspensions
  /** Writes a service to the catalog and returns its offerings. */
  readonly publish: (service: AnyService) => Promise<readonly Offering[]>
  /** Finds the services whose commission differs from the rate in force. */
  readonly findOutdated: (declared: ReadonlyMap<string, Routes>) => Promise<readonly AnyService[]>
  readonly now: () => number
}

/** Maximum delay until every process applies a new commission rate. */
const COMMISSION_CHECK_MS = 1_000

/** Endpoints on sale: declared services, held in memory, and services of families. */
export class Catalog {
  readonly #declared = new Map<string, Routes>()
  readonly #deps: CatalogDeps
  #commissionsCheckedAt: number

  constructor(offerings: readonly Offering[], deps: CatalogDeps) {
    for (const [slug, endpoints] of Map.groupBy(offerings, ({ service }) => service.slug)) {
      this.#declared.set(slug, byRoute(endpoints))
    }
    this.#deps = deps
    this.#commissionsCheckedAt = deps.now()
  }

  /**
   * Finds endpoints by `METHOD /path` if the service exists. Returns a promise only if something
   * must be read first.
   * @throws Fault `service_suspended`
   */
  find(slug: string): Routes | undefined | Promise<Routes | undefined> {
    const pendingCheck = this.#deps.suspensions.assertNotSuspended(slug)
    return pendingCheck ? pendingCheck.then(() => this.#find(slug)) : this.#find(slug)
  }

  #find(slug: string): Routes | undefined | Promise<Routes | undefined> {
    if (!this.#declared.has(slug)) return this.#deps.families.find(slug)
    const isCheckDue = this.#deps.now() - this.#commissionsCheckedAt >= COMMISSION_CHECK_MS
    if (!isCheckDue) return this.#declared.get(slug)
    return this.#updateCommissions(this.#declared).then(() => this.#declared.get(slug))
  }

  /** Publishes new price versions of services whose commission has changed. */
  readonly #updateCommissions = singleFlight(async (declared: ReadonlyMap<string, Routes>) => {
    const at = this.#deps.now()
    const outdated = await this.#deps.findOutdated(declared)
    this.#commissionsCheckedAt = at
    for (const service of outdated) await this.publish(service)
  })

  /** Lists the declared services and the first page of each family, which may be large. */
  async entries(): Promise<readonly CatalogEntry[]> {
    const declared = [...this.#declared.values()].flatMap((routes) => [...routes.values()])
    return [
      ...declared.map(catalogEntry),
      ...(await this.#deps.families.firstPages()).flatMap(catalogEntriesOf),
    ]
  }

  /**
   * Puts a service on sale while the hub runs, replacing the one with the same slug. Pending calls
   * finish with the version they started with.
   * @throws Error if a family's service has the slug
   */
  async publish(service: AnyService): Promise<void> {
    this.#declared.set(service.slug, byRoute(await this.#deps.publish(service)))
  }

  /** Removes a service that its owner has retired. */
  remove(slug: string): void {
    this.#declared.delete(slug)
  }

  /** Returns the service that a family would sell under a slug, before it is on sale. */
  async preview(family: string, slug: string): Promise<AnyService | undefined> {
    return this.#deps.families.preview(family, slug)
  }

  /** Rereads a family's service, so that this process sells it and search finds it at once. */
  async refresh(slug: string): Promise<void> {
    await this.#deps.families.refresh(slug)
  }

  /** Refreshes all services of families that changed without a refresh. */
  async refreshAll(): Promise<void> {
    await this.#deps.families.refreshAll()
  }
}

const byRoute = (offerings: readonly Offering[]): Routes =>
  new Map(offerings.map((offering) => [`${offering.method} ${offering.path}`, offering]))

export const catalogEntry = ({
  service,
  endpoint,
  method,
  path,
  payee,
}: Offering): CatalogEntry => {
  return { service, endpoint, method, path, isPassThrough: payee.code === EXTERNAL_SELLERS }
}

const catalogEntriesOf = (service: AnyService): readonly CatalogEntry[] =>
  routesOf(service).map(([route, endpoint]) => {
    const [method, path] = route.split(' ') as [string, string]
    return { service, endpoint, method, path, isPassThrough: false }
  })

/** Lists or unlists a service, depending on whether it has anything to sell. */
export async function refreshServiceState(pool: Pool, service: AnyService): Promise<void> {
  const { rowCount } = await pool.query(
    `UPDATE hub.service SET state = $2, updated_at = now()
     WHERE slug = $1 AND state NOT IN ('retired', $2)`,
    [service.slug, await currentState(service)],
  )
  if (rowCount) await pool.query('SELECT hub.index_service($1)', [service.slug])
}

/** Everything that is on sale when the hub starts. */
export interface CatalogDeclaration extends SalesTerms {
  readonly services: readonly AnyService[]
  readonly families: readonly Family[]
  /** Slugs of services that are published right after; they are not retired. */
  readonly startingSlugs?: readonly string[]
  /** Time of its caches: see `TtlOptions`. */
  readonly now?: (() => number) | undefined
}

/**
 * Writes the declared services to the catalog and opens it. A changed price becomes a new version;
 * a service that is no longer declared is retired, never deleted. Safe when several instances start
 * at the same time.
 */
export async function openCatalog(
  pool: Pool,
  ledger: Ledger,
  declaration: CatalogDeclaration,
): Promise<Catalog> {
  const { services, families, now } = declaration
  const published = await inTransaction(pool, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('hub.catalog'))`)
    await retireUndeclared(client, declaration)
    const endpoints: PublishedEndpoint[] = []
    for (const service of services)
      endpoints.push(...(await writeService(client, service, declaration)))
    await client.query('SELECT hub.index_service(slug) FROM hub.service WHERE family IS NULL')
    return endpoints
  })
  const payee = (service: AnyService) => openPayee(ledger, service, declaration)
  const withPayee = (endpoints: readonly PublishedEndpoint[]) =>
    Promise.all(endpoints.map(async (one) => ({ ...one, payee: await payee(one.service) })))
  return new Catalog(await withPayee(published), {
    families: new Families({ pool, families, terms: declaration, payee, now }),
    suspensions: new Suspensions(pool, now),
    publish: async (service) => withPayee(await publishService(pool, service, declaration)),
    findOutdated: (declared) => findOutdatedCommissions(pool, declared, declaration),
    now: now ?? elapsedMs,
  })
}

function openPayee(
  ledger: Ledger,
  { provider, slug }: AnyService,
  { passThrough }: SalesTerms,
): Promise<AccountRef> {
  if (passThrough.has(slug)) return ledger.account(EXTERNAL_SELLERS)
  return ledger.open(earningsOf(provider, slug, provider === PLATFORM_PROVIDER), 'USDC')
}

async function retireUndeclared(
  client: PoolClient,
  { services, families, startingSlugs = [] }: CatalogDeclaration,
): Promise<void> {
  const routes = services.flatMap((service) =>
    routesOf(service).map(([route]) => `${service.slug} ${route}`),
  )
  await client.query(
    `UPDATE hub.endpoint e SET state = 'retired' FROM hub.service s
     WHERE s.slug = e.service AND s.family IS NULL AND e.state = 'active'
       AND e.service || ' ' || e.method || ' ' || e.path <> ALL ($1) AND e.service <> ALL ($2)`,
    [routes, startingSlugs],
  )
  const { rows } = await client.query<{ slug: string }>(
    `UPDATE hub.service SET state = 'retired', updated_at = now()
     WHERE state <> 'retired'
       AND CASE WHEN family IS NULL THEN slug <> ALL ($1) ELSE family <> ALL ($2) END
     RETURNING slug`,
    [[...services.map(({ slug }) => slug), ...startingSlugs], families.map(({ family }) => family)],
  )
  await client.query('SELECT hub.index_service(slug) FROM unnest($1::text[]) slug', [
    rows.map(({ slug }) => slug),
  ])
}

async function findOutdatedCommissions(
  pool: Pool,
  declared: ReadonlyMap<string, Routes>,
  { passThrough, defaultCommissionBps }: SalesTerms,
): Promise<readonly AnyService[]> {
  const { rows } = await pool.query<{ slug: string; provider: string; rule: number | null }>({
    name: 'catalog.rates',
    text: `SELECT slug, provider, hub.commission_of(provider, slug) AS rule FROM hub.service
      WHERE family IS NULL AND state <> 'retired'`,
  })
  return rows.flatMap(({ slug, provider, rule }) => {
    const endpoints = [...(declared.get(slug)?.values() ?? [])]
    const bps = commissionBps(provider, rule, defaultCommissionBps)
    const outdated = endpoints.find((offering) => offering.commissionBps !== bps)
    return outdated && !passThrough.has(slug) ? [outdated.service] : []
  })
}
