import { hash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { canonicalJson } from '../../crypto/canonical-json.ts'
import { inTransaction } from '../../db/transaction.ts'
import type { AccountRef } from '../../ledger/ledger.ts'
import type { Micros } from '../../money.ts'
import { assertCompiles, checkValue, type ValueCheck } from '../../plugin/check-value.ts'
import type { AnyEndpoint, AnyService, MeteredPrice, Route } from '../../plugin/index.ts'
import type { Schema } from '../../plugin/schema.ts'
import { cleanText, visibleText } from '../../text.ts'
import { commissionBps } from '../../usage/commission.ts'

/** Endpoint on sale: its declaration, price version, commission and payee. */
export interface Offering {
  readonly service: AnyService
  readonly endpoint: AnyEndpoint
  readonly endpointId: number
  readonly method: string
  readonly path: string
  readonly priceVersion: number
  readonly commissionBps: number
  readonly payee: AccountRef
  readonly checkInput: ValueCheck
  readonly checkOutput: ValueCheck | undefined
}

/** Endpoint in the catalog, before its payee's account has been opened. */
export type PublishedEndpoint = Omit<Offering, 'payee'>

/** Commission rules for services. */
export interface SalesTerms {
  /** Slugs of services whose whole price goes to an external seller from the platform's wallet. */
  readonly passThrough: ReadonlySet<string>
  readonly defaultCommissionBps: number
}

/** Returns the maximum price of an endpoint; for a fixed price, the price itself. */
export const maxPrice = ({ price }: AnyEndpoint): Micros =>
  typeof price === 'bigint' ? price : price.max

/** Returns the declared minimum of a computed price. */
const minPrice = ({ price }: AnyEndpoint): Micros | undefined =>
  typeof price === 'object' && price.unit === undefined ? price.min : undefined

/** Returns the metered price of an endpoint; undefined if it has another one. */
export const meteredPrice = ({ price }: AnyEndpoint): MeteredPrice | undefined =>
  typeof price === 'object' && price.unit !== undefined ? price : undefined

/** Metered price as the catalog stores it. */
const meteredColumns = (endpoint: AnyEndpoint) => {
  const { unit = null, of } = meteredPrice(endpoint) ?? {}
  return [unit, of?.amount ?? null, of?.per ?? null] as const
}

export const routesOf = ({ endpoints }: AnyService): readonly [Route, AnyEndpoint][] =>
  Object.entries(endpoints) as [Route, AnyEndpoint][]

/** Returns `unlisted` for a service that reports having nothing to sell. */
export const currentState = async ({ isListed }: AnyService): Promise<'active' | 'unlisted'> =>
  isListed === undefined || (await isListed()) ? 'active' : 'unlisted'

/** Cached by schema object, because the services of a family mostly share their schemas. */
const schemaTexts = new WeakMap<object, string>()
function schemaText({ json }: Schema<unknown>): string {
  const text = schemaTexts.get(json) ?? canonicalJson(json)
  schemaTexts.set(json, text)
  return text
}

/** Hashes everything that the catalog stores of a service; nothing is written while it is equal. */
export const digestOf = (service: AnyService): string => {
  const { name, category, summary, provider, freeCallsPerMonth = 0, freeUnitsPerMonth } = service
  const routes = routesOf(service).map(([route, endpoint]) => [
    route,
    endpoint.summary,
    String(maxPrice(endpoint)),
    typeof endpoint.price,
    ...(minPrice(endpoint) === undefined ? [] : [String(minPrice(endpoint))]),
    ...(meteredPrice(endpoint) ? meteredColumns(endpoint).map(String) : []),
    schemaText(endpoint.input),
    endpoint.output && schemaText(endpoint.output),
  ])
  const free = freeUnitsPerMonth ? [freeCallsPerMonth, freeUnitsPerMonth] : freeCallsPerMonth
  const content = JSON.stringify([name, category, summary, provider, free, routes])
  return hash('sha256', content, 'hex')
}

/** Writes a service and new price versions to the catalog. @throws Error if the slug is taken */
export async function writeService(
  client: PoolClient,
  service: AnyService,
  { passThrough, defaultCommissionBps }: SalesTerms,
  family: string | null = null,
): Promise<readonly PublishedEndpoint[]> {
  const { slug, category, provider } = service
  const [name, summary] = [cleanText(service.name, 100), cleanText(service.summary, 500)]
  const free = service.freeCallsPerMonth ?? 0
  const freeUnits = JSON.stringify(service.freeUnitsPerMonth ?? {})
  const digest = family === null ? null : digestOf(service)
  const isPassThrough = passThrough.has(slug)
  const state = isPassThrough ? 'unlisted' : await currentState(service)
  await client.query('INSERT INTO hub.provider (id) VALUES ($1) ON CONFLICT DO NOTHING', [provider])
  const { rows } = await client.query<{ rule: number | null }>(
    `INSERT INTO hub.service AS s (slug, name, category, summary, provider,
       free_calls_per_month, state, family, digest, free_units)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (slug) DO UPDATE SET name = $2, category = $3, summary = $4, provider = $5,
       free_calls_per_month = $6, state = $7, digest = $9, free_units = $10, updated_at = now()
     WHERE s.family IS NOT DISTINCT FROM $8
     RETURNING hub.commission_of(s.provider, s.slug) AS rule`,
    [slug, name, category, summary, provider, free, state, family, digest, freeUnits],
  )
  const [terms] = rows
  if (!terms) throw new Error(`service ${slug}: the slug is taken`)
  const bps = isPassThrough ? 0 : commissionBps(provider, terms.rule, defaultCommissionBps)
  const endpoints: PublishedEndpoint[] = []
  const compiled = family === null ? await readSchemas(client, slug) : undefined
  for (const [route, endpoint] of routesOf(service)) {
    const added = schemasOf(endpoint).filter(
      (schema) => compiled?.has(schemaText(schema)) === false,
    )
    await Promise.all(added.map(assertCompiles))
    endpoints.push(await writeEndpoint(client, service, route, endpoint, bps))
  }
  return endpoints
}

/** Reads the schemas of a service that have been compiled before, as `schemaText` writes them. */
async function readSchemas(client: PoolClient, slug: string): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ schema: object }>(
    `SELECT unnest(ARRAY[input_schema, output_schema]) AS schema FROM hub.endpoint
     WHERE service = $1`,
    [slug],
  )
  return new Set(rows.map(({ schema }) => canonicalJson(schema)))
}

async function writeEndpoint(
  client: PoolClient,
  service: AnyService,
  route: Route,
  endpoint: AnyEndpoint,
  commission: number,
): Promise<PublishedEndpoint> {
  const [method, path] = route.split(' ') as [string, string]
  const output = endpoint.output && visibleText(JSON.stringify(endpoint.output.json))
  const input = visibleText(JSON.stringify(endpoint.input.json))
  const { rows } = await client.query<{ id: number }>(
    `INSERT INTO hub.endpoint (service, method, path, summary, input_schema, output_schema)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (service, method, path) DO UPDATE SET summary = $4, input_schema = $5,
       output_schema = $6, state = 'active'
     RETURNING id`,
    [service.slug, method, path, cleanText(endpoint.summary, 500), input, output ?? null],
  )
  const { id } = rows[0]!
  const { rows: versions } = await client.query<{ version: number }>(
    `WITH current AS (
       SELECT * FROM hub.price WHERE endpoint = $1 ORDER BY version DESC LIMIT 1
     ), added AS (
       INSERT INTO hub.price (endpoint, version, amount, computed, commission_bps, unit,
         unit_amount, unit_per, minimum)
       SELECT $1, coalesce((SELECT version FROM current), 0) + 1, $2, $3, $4, $5, $6, $7, $8
       WHERE NOT EXISTS (SELECT FROM current
         WHERE amount = $2 AND computed = $3 AND commission_bps = $4
           AND (unit, unit_amount, unit_per, minimum) IS NOT DISTINCT FROM
             ($5::text, $6::bigint, $7::bigint, $8::bigint))
       RETURNING version)
     SELECT version FROM added UNION ALL SELECT version FROM current ORDER BY version DESC LIMIT 1`,
    [
      id,
      maxPrice(endpoint),
      typeof endpoint.price !== 'bigint',
      commission,
      ...meteredColumns(endpoint),
      minPrice(endpoint) ?? null,
    ],
  )
  const { version } = versions[0]!
  return publishedEndpoint(service, route, endpoint, { id, version, bps: commission })
}

const schemasOf = ({ input, output }: AnyEndpoint) => (output ? [input, output] : [input])

export interface EndpointRow {
  readonly id: number
  /** Price version. */
  readonly version: number
  /** Commission of that version, in basis points. */
  readonly bps: number
}

export function publishedEndpoint(
  service: AnyService,
  route: Route,
  endpoint: AnyEndpoint,
  { id, version, bps }: EndpointRow,
): PublishedEndpoint {
  const [method, path] = route.split(' ') as [string, string]
  return {
    service,
    endpoint,
    endpointId: id,
    method,
    path,
    priceVersion: version,
    commissionBps: bps,
    checkInput: checkValue(endpoint.input),
    checkOutput: endpoint.output && checkValue(endpoint.output),
  }
}

/** Writes and indexes a service; retires endpoints that it no longer has. */
export async function replaceService(
  client: PoolClient,
  service: AnyService,
  terms: SalesTerms,
  family: string | null = null,
): Promise<readonly PublishedEndpoint[]> {
  const endpoints = await writeService(client, service, terms, family)
  await client.query(
    `UPDATE hub.endpoint SET state = 'retired'
     WHERE service = $1 AND state = 'active' AND method || ' ' || path <> ALL ($2)`,
    [service.slug, routesOf(service).map(([route]) => route)],
  )
  await client.query('SELECT hub.index_service($1)', [service.slug])
  return endpoints
}

/** Writes a service that was added or changed while the hub runs. */
export const publishService = (
  pool: Pool,
  service: AnyService,
  terms: SalesTerms,
): Promise<readonly PublishedEndpoint[]> =>
  inTransaction(pool, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('hub.catalog'))`)
    return replaceService(client, service, terms)
  })

/** Retires a service that is no longer sold. */
export const retireService = (pool: Pool, slug: string): Promise<void> =>
  inTransaction(pool, async (client) => {
    await client.query(
      `UPDATE hub.service SET state = 'retired', updated_at = now()
       WHERE slug = $1 AND family IS NULL AND state <> 'retired'`,
      [slug],
    )
    await client.query('SELECT hub.index_service($1)', [slug])
  })
