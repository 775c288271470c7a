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

export { maxPrice, type Offering } from './publish.ts'

/** Endpoint as shown in API documents. */
export type CatalogEntry = Pick<Offering, 'service' | 'endpoint' | 'method' | 'path'> & {
  /** True if its price goes to an external seller. */
  readonly isPassThrough: boolean
}

/** Writes a service to the catalog and returns its offerings. */
type PublishOffers = (service: AnyService) => Promise<readonly Offering[]>

/** Endpoints on sale: declared services, held in memory, and services of families. */
export class Catalog {
  readonly #declared = new Map<string, Routes>()
  readonly #families: Families
  readonly #publishOffers: PublishOffers
  readonly #rates: CommissionRates
  readonly #suspensions: Suspensions

  constructor(
    offerings: readonly Offering[],
    families: Families,
    publishOffers: PublishOffers,
    checks: { readonly rates: CommissionRates; readonly suspensions: Suspensions },
  ) {
    for (const slug of new Set(offerings.map(({ service }) => service.slug))) {
      const own = offerings.filter(({ service }) => service.slug === slug)
      this.#declared.set(slug, new Map(own.map((o) => [`${o.method} ${o.path}`, o])))
    }
    this.#families = families
    this.#publishOffers = publishOffers
    this.#rates = checks.rates
    this.#suspensions = checks.suspensions
  }

  /**
   * Finds the endpoints of a service by `METHOD /path`; undefined if there is no such service.
   * Those of a family are at most one second old.
   * @throws Fault `service_suspended`
   */
  async find(slug: string): Promise<Routes | undefined> {
    await this.#suspensions.assertNotSuspended(slug)
    if (!this.#declared.has(slug)) return await this.#families.find(slug)
    if (this.#rates.isCheckDue()) await this.#updateCommissions(this.#declared)
    return this.#declared.get(slug)
  }

  /** Publishes new price versions of services whose commission has changed. */
  readonly #updateCommissions = singleFlight(async (declared: ReadonlyMap<string, Routes>) => {
    for (const service of await this.#rates.servicesToReprice(declared)) await this.publish(service)
  })

  /** Lists the declared services and the first page of each family, which may be large. */
  async entries(): Promise<readonly CatalogEntry[]> {
    const declared = [...this.#declared.values()].flatMap((routes) => [...routes.values()])
    return [
      ...declared.map(catalogEntry),
      ...(await this.#families.firstPages()).flatMap(catalogEntriesOf),
    ]
  }

  /**
   * Puts a service on sale while the hub runs, replacing the one with the same slug. Pending calls
   * finish with the version they started with.
   * @throws Error if a family's service has the slug
   */
  async publish(service: AnyService): Promise<void> {
    const offerings = await this.#publishOffers(service)
    this.#declared.set(service.slug, new Map(offerings.map((o) => [`${o.method} ${o.path}`, o])))
  }

  /** Removes a service that its owner has retired. */
  remove(slug: string): void {
    this.#declared.delete(slug)
  }

  /** Returns the service that a family would sell under a slug, before it is on sale. */
  async preview(family: string, slug: string): Promise<AnyService | undefined> {
    return this.#families.preview(family, slug)
  }

  /** Rereads a family's service, so that this process sells it and search finds it at once. */
  async refresh(slug: string): Promise<void> {
    await this.#families.refresh(slug)
  }

  /** Refreshes all services of families that changed without a refresh. */
  async refreshAll(): Promise<void> {
    await this.#families.refreshAll()
  }
}

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
  const publishOffers = async (service: AnyService) =>
    withPayee(await publishService(pool, service, declaration))
  const checks = {
    rates: new CommissionRates(pool, declaration, now),
    suspensions: new Suspensions(pool, now),
  }
  const familyServices = new Families({ pool, families, terms: declaration, payee, now })
  return new Catalog(await withPayee(published), familyServices, publishOffers, checks)
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

/** Maximum delay until every process applies a new commission rate. */
const CACHE_MS = 1_000

/** Compares the commission of declared services with the rates in force. */
class CommissionRates {
  readonly #pool: Pool
  readonly #terms: SalesTerms
  readonly #now: () => number
  #checkedAt: number

  constructor(pool: Pool, terms: SalesTerms, now: () => number = elapsedMs) {
    this.#pool = pool
    this.#terms = terms
    this.#now = now
    this.#checkedAt = now()
  }

  /** Returns true once a second. */
  isCheckDue(): boolean {
    return this.#now() - this.#checkedAt >= CACHE_MS
  }

  /** Finds the services whose commission differs from the rate in force. */
  async servicesToReprice(routes: ReadonlyMap<string, Routes>): Promise<readonly AnyService[]> {
    const at = this.#now()
    const { passThrough, defaultCommissionBps } = this.#terms
    const { rows } = await this.#pool.query<{
      slug: string
      provider: string
      rule: number | null
    }>({
      name: 'catalog.rates',
      text: `SELECT slug, provider, hub.commission_of(provider, slug) AS rule FROM hub.service
        WHERE family IS NULL AND state <> 'retired'`,
    })
    this.#checkedAt = at
    return rows.flatMap(({ slug, provider, rule }) => {
      const [first, ...others] = routes.get(slug)?.values() ?? []
      if (!first || passThrough.has(slug)) return []
      const bps = commissionBps(provider, rule, defaultCommissionBps)
      const isOutdated = [first, ...others].some(({ commissionBps: sold }) => sold !== bps)
      return isOutdated ? [first.service] : []
    })
  }
}
