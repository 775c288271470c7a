import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { inFlight } from '../../in-flight.ts'
import type { AccountRef, Ledger } from '../../ledger/ledger.ts'
import { EXTERNAL_SELLERS, earningsOf } from '../../ledger/postings.ts'
import type { AnyService, Family } from '../../plugin/index.ts'
import { HOUSE } from '../../usage/commission.ts'
import { Families, type Routes } from './families.ts'
import {
  type Offering,
  routesOf,
  stateOf,
  type Terms,
  type Written,
  writeService,
} from './publish.ts'
import { Rates } from './rates.ts'
import { publish } from './replace.ts'
import { Suspensions } from './suspension.ts'

export { maxPrice, type Offering } from './publish.ts'

/** An endpoint as documents show it. */
export type Shown = Pick<Offering, 'service' | 'endpoint' | 'method' | 'path'> & {
  /** Whether its price goes to somebody outside. */
  readonly outside: boolean
}

/** Writes a service into the catalogue, and gives what is sold of it. */
type Sell = (service: AnyService) => Promise<readonly Offering[]>

/** The endpoints on sale: those that were declared, in memory, and those of families. */
export class Catalog {
  readonly #declared = new Map<string, Routes>()
  readonly #families: Families
  readonly #sell: Sell
  readonly #rates: Rates
  readonly #suspensions: Suspensions

  constructor(
    offerings: readonly Offering[],
    families: Families,
    sell: Sell,
    looks: { readonly rates: Rates; readonly suspensions: Suspensions },
  ) {
    for (const slug of new Set(offerings.map(({ service }) => service.slug))) {
      const own = offerings.filter(({ service }) => service.slug === slug)
      this.#declared.set(slug, new Map(own.map((o) => [`${o.method} ${o.path}`, o])))
    }
    this.#families = families
    this.#sell = sell
    this.#rates = looks.rates
    this.#suspensions = looks.suspensions
  }

  /**
   * The endpoints of a service by `METHOD /path`; undefined when there is no such service. Those
   * of a family are at most a second old.
   * @throws Fault `service_suspended`
   */
  async find(slug: string): Promise<Routes | undefined> {
    await this.#suspensions.assertOn(slug)
    if (!this.#declared.has(slug)) return await this.#families.find(slug)
    if (this.#rates.isDue()) await this.#follow(this.#declared)
    return this.#declared.get(slug)
  }

  /** Gives prices a new version where another commission is in force by now. */
  readonly #follow = inFlight(async (declared: ReadonlyMap<string, Routes>) => {
    for (const service of await this.#rates.outdated(declared)) await this.put(service)
  })

  /** What was declared, and the first services of each family: there may be very many of them. */
  async shown(): Promise<readonly Shown[]> {
    const declared = [...this.#declared.values()].flatMap((routes) => [...routes.values()])
    return [...declared.map(shown), ...(await this.#families.first()).flatMap(shownOf)]
  }

  /**
   * Sells a service that was declared while the hub runs, instead of what was sold at its slug.
   * Calls that are under way keep what they began with.
   * @throws Error when the slug is that of a family's service
   */
  async put(service: AnyService): Promise<void> {
    const offerings = await this.#sell(service)
    this.#declared.set(service.slug, new Map(offerings.map((o) => [`${o.method} ${o.path}`, o])))
  }

  /** Sells it no more: its owner has retired it. */
  drop(slug: string): void {
    this.#declared.delete(slug)
  }

  /** What would be sold under a slug of a family, before it is. */
  async preview(family: string, slug: string): Promise<AnyService | undefined> {
    return this.#families.preview(family, slug)
  }

  /** Writes what has become of a service of a family: sold here at once, found by search. */
  async refresh(slug: string): Promise<void> {
    await this.#families.refresh(slug)
  }

  /** Finds what was not refreshed when it changed, over all families. */
  async refreshAll(): Promise<void> {
    await this.#families.refreshAll()
  }
}

export const shown = ({ service, endpoint, method, path, payee }: Offering): Shown => {
  return { service, endpoint, method, path, outside: payee.code === EXTERNAL_SELLERS }
}

const shownOf = (service: AnyService): readonly Shown[] =>
  routesOf(service).map(([route, endpoint]) => {
    const [method, path] = route.split(' ') as [string, string]
    return { service, endpoint, method, path, outside: false }
  })

/** Lists a service that has got something to sell, and takes one off the list that has not. */
export async function refreshListing(pool: Pool, service: AnyService): Promise<void> {
  const { rowCount } = await pool.query(
    `UPDATE hub.service SET state = $2, updated_at = now()
     WHERE slug = $1 AND state NOT IN ('retired', $2)`,
    [service.slug, await stateOf(service)],
  )
  if (rowCount) await pool.query('SELECT hub.index_service($1)', [service.slug])
}

export interface Selling extends Terms {
  readonly services: readonly AnyService[]
  readonly families: readonly Family[]
  /** Slugs of services that are put on sale right after: they are left as they are. */
  readonly awaited?: readonly string[]
}

/**
 * Writes what is declared into the catalogue and gives what is on sale. A changed price becomes a
 * new version; what is no longer declared is retired, never deleted. Safe with several instances
 * that start at once.
 */
export async function openCatalog(pool: Pool, ledger: Ledger, selling: Selling): Promise<Catalog> {
  const { services, families } = selling
  const written = await inTransaction(pool, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('hub.catalog'))`)
    await retireAbsent(client, selling)
    const offerings: Written[] = []
    for (const service of services)
      offerings.push(...(await writeService(client, service, selling)))
    await client.query('SELECT hub.index_service(slug) FROM hub.service WHERE family IS NULL')
    return offerings
  })
  const payee = (service: AnyService) => payeeOf(ledger, service, selling)
  const offered = (each: readonly Written[]) =>
    Promise.all(each.map(async (one) => ({ ...one, payee: await payee(one.service) })))
  const sell = async (service: AnyService) => offered(await publish(pool, service, selling))
  const ofFamilies = new Families({ pool, families, terms: selling, payee })
  const looks = { rates: new Rates(pool, selling), suspensions: new Suspensions(pool) }
  return new Catalog(await offered(written), ofFamilies, sell, looks)
}

function payeeOf(
  ledger: Ledger,
  { provider, slug }: AnyService,
  { passThrough }: Terms,
): Promise<AccountRef> {
  if (passThrough.has(slug)) return ledger.account(EXTERNAL_SELLERS)
  return ledger.open(earningsOf(provider, slug, provider === HOUSE), 'USDC')
}

async function retireAbsent(
  client: PoolClient,
  { services, families, awaited = [] }: Selling,
): Promise<void> {
  const routes = services.flatMap((service) =>
    routesOf(service).map(([route]) => `${service.slug} ${route}`),
  )
  await client.query(
    `UPDATE hub.endpoint e SET state = 'retired' FROM hub.service s
     WHERE s.slug = e.service AND s.family IS NULL AND e.state = 'active'
       AND e.service || ' ' || e.method || ' ' || e.path <> ALL ($1) AND e.service <> ALL ($2)`,
    [routes, awaited],
  )
  const { rows } = await client.query<{ slug: string }>(
    `UPDATE hub.service SET state = 'retired', updated_at = now()
     WHERE state <> 'retired'
       AND CASE WHEN family IS NULL THEN slug <> ALL ($1) ELSE family <> ALL ($2) END
     RETURNING slug`,
    [[...services.map(({ slug }) => slug), ...awaited], families.map(({ family }) => family)],
  )
  await client.query('SELECT hub.index_service(slug) FROM unnest($1::text[]) slug', [
    rows.map(({ slug }) => slug),
  ])
}
