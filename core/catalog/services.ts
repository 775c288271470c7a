import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import type { AccountRef, Ledger } from '../ledger/ledger.ts'
import { EXTERNAL_SELLERS, earningsOf } from '../ledger/postings.ts'
import type { Micros } from '../money.ts'
import type { AnyEndpoint, AnyService, Route } from '../plugin.ts'
import { commissionBps, HOUSE } from '../usage/commission.ts'
import { type Check, compile } from '../validate.ts'

/** One endpoint as it is sold: its declaration, its pinned price version, and who earns. */
export interface Offering {
  readonly service: AnyService
  readonly endpoint: AnyEndpoint
  readonly endpointId: number
  readonly method: string
  readonly path: string
  readonly priceVersion: number
  readonly commissionBps: number
  readonly payee: AccountRef
  readonly checkInput: Check
  readonly checkOutput: Check | undefined
}

/** The endpoints on sale, by service and route. */
export class Catalog {
  readonly #offerings = new Map<string, ReadonlyMap<string, Offering>>()

  constructor(offerings: readonly Offering[]) {
    for (const slug of new Set(offerings.map(({ service }) => service.slug))) {
      const own = offerings.filter(({ service }) => service.slug === slug)
      this.#offerings.set(slug, new Map(own.map((o) => [`${o.method} ${o.path}`, o])))
    }
  }

  /** The endpoints of a service by `METHOD /path`; undefined when there is no such service. */
  service(slug: string): ReadonlyMap<string, Offering> | undefined {
    return this.#offerings.get(slug)
  }

  all(): readonly Offering[] {
    return [...this.#offerings.values()].flatMap((routes) => [...routes.values()])
  }
}

const stateOf = async ({ isListed }: AnyService): Promise<'active' | 'unlisted'> =>
  isListed === undefined || (await isListed()) ? 'active' : 'unlisted'

/** Lists a service that has got something to sell, and takes one off the list that has not. */
export async function refreshListing(pool: Pool, service: AnyService): Promise<void> {
  const { rowCount } = await pool.query(
    `UPDATE hub.service SET state = $2, updated_at = now()
     WHERE slug = $1 AND state NOT IN ('retired', $2)`,
    [service.slug, await stateOf(service)],
  )
  if (rowCount) await pool.query('SELECT hub.index_service($1)', [service.slug])
}

/** What a price costs at most: the price itself when it is fixed. */
export const maxPrice = ({ price }: AnyEndpoint): Micros =>
  typeof price === 'bigint' ? price : price.max

export interface Selling {
  readonly services: readonly AnyService[]
  /** Services whose price goes to somebody outside, whole, out of the platform's wallet. */
  readonly passThrough: ReadonlySet<string>
  readonly defaultCommissionBps: number
}

/**
 * Writes what is declared into the catalogue and gives what is on sale. A changed price becomes a
 * new version; what is no longer declared is retired, never deleted. Safe with several instances
 * that start at once.
 */
export async function openCatalog(
  pool: Pool,
  ledger: Ledger,
  { services, passThrough, defaultCommissionBps }: Selling,
): Promise<Catalog> {
  const offerings = await inTransaction(pool, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('hub.catalog'))`)
    await retireAbsent(client, services)
    const written: Omit<Offering, 'payee'>[] = []
    for (const service of services) {
      written.push(...(await writeService(client, service, passThrough, defaultCommissionBps)))
    }
    await client.query('SELECT hub.index_service(slug) FROM hub.service')
    return written
  })
  return new Catalog(
    await Promise.all(
      offerings.map(async (offering) => ({
        ...offering,
        payee: await payeeOf(ledger, offering.service, passThrough),
      })),
    ),
  )
}

function payeeOf(
  ledger: Ledger,
  { provider, slug }: AnyService,
  passThrough: ReadonlySet<string>,
): Promise<AccountRef> {
  if (passThrough.has(slug)) return ledger.account(EXTERNAL_SELLERS)
  return ledger.open(earningsOf(provider, slug, provider === HOUSE), 'USDC')
}

async function retireAbsent(client: PoolClient, services: readonly AnyService[]): Promise<void> {
  const routes = services.flatMap(({ slug, endpoints }) =>
    Object.keys(endpoints).map((route) => `${slug} ${route}`),
  )
  await client.query(
    `UPDATE hub.endpoint SET state = 'retired'
     WHERE state = 'active' AND service || ' ' || method || ' ' || path <> ALL ($1)`,
    [routes],
  )
  await client.query(
    `UPDATE hub.service SET state = 'retired', updated_at = now()
     WHERE state <> 'retired' AND slug <> ALL ($1)`,
    [services.map(({ slug }) => slug)],
  )
}

async function writeService(
  client: PoolClient,
  service: AnyService,
  passThrough: ReadonlySet<string>,
  defaultBps: number,
): Promise<Omit<Offering, 'payee'>[]> {
  const { slug, name, category, summary, provider } = service
  const routes = Object.entries(service.endpoints) as [Route, AnyEndpoint][]
  const state = passThrough.has(slug) ? 'unlisted' : await stateOf(service) // a door is no service
  await client.query('INSERT INTO hub.provider (id) VALUES ($1) ON CONFLICT DO NOTHING', [provider])
  const { rows } = await client.query<{ own: number | null; provider: number | null }>(
    `INSERT INTO hub.service AS s (slug, name, category, summary, provider,
       free_calls_per_month, state)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (slug) DO UPDATE SET name = $2, category = $3, summary = $4, provider = $5,
       free_calls_per_month = $6, state = $7, updated_at = now()
     RETURNING s.commission_bps AS own,
       (SELECT p.commission_bps FROM hub.provider p WHERE p.id = $5) AS provider`,
    [slug, name, category, summary, provider, service.freeCallsPerMonth ?? 0, state],
  )
  const { own, provider: providers } = rows[0]!
  const bps = passThrough.has(slug)
    ? 0
    : commissionBps(provider, { service: own, provider: providers }, defaultBps)
  const offerings: Omit<Offering, 'payee'>[] = []
  for (const [route, endpoint] of routes) {
    offerings.push(await writeEndpoint(client, service, route, endpoint, bps))
  }
  return offerings
}

async function writeEndpoint(
  client: PoolClient,
  service: AnyService,
  route: Route,
  endpoint: AnyEndpoint,
  commission: number,
): Promise<Omit<Offering, 'payee'>> {
  const [method, path] = route.split(' ') as [string, string]
  const output = endpoint.output === undefined ? null : JSON.stringify(endpoint.output.json)
  const { rows } = await client.query<{ id: number }>(
    `INSERT INTO hub.endpoint (service, method, path, summary, input_schema, output_schema)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (service, method, path) DO UPDATE SET summary = $4, input_schema = $5,
       output_schema = $6, state = 'active'
     RETURNING id`,
    [service.slug, method, path, endpoint.summary, JSON.stringify(endpoint.input.json), output],
  )
  const { id } = rows[0]!
  const { rows: versions } = await client.query<{ version: number }>(
    `WITH current AS (
       SELECT * FROM hub.price WHERE endpoint = $1 ORDER BY version DESC LIMIT 1
     ), added AS (
       INSERT INTO hub.price (endpoint, version, amount, computed, commission_bps)
       SELECT $1, coalesce((SELECT version FROM current), 0) + 1, $2, $3, $4
       WHERE NOT EXISTS (SELECT FROM current
         WHERE amount = $2 AND computed = $3 AND commission_bps = $4)
       RETURNING version)
     SELECT version FROM added UNION ALL SELECT version FROM current ORDER BY version DESC LIMIT 1`,
    [id, maxPrice(endpoint), typeof endpoint.price !== 'bigint', commission],
  )
  return {
    service,
    endpoint,
    endpointId: id,
    method,
    path,
    priceVersion: versions[0]!.version,
    commissionBps: commission,
    checkInput: compile(endpoint.input),
    checkOutput: endpoint.output && compile(endpoint.output),
  }
}
