import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'
import { canonicalJson } from '../../crypto/canonical-json.ts'
import type { AccountRef } from '../../ledger/ledger.ts'
import type { Micros } from '../../money.ts'
import type { AnyEndpoint, AnyService, Route } from '../../plugin/index.ts'
import type { Schema } from '../../plugin/schema.ts'
import { type Check, compile } from '../../plugin/validate.ts'
import { commissionBps } from '../../usage/commission.ts'

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

/** An endpoint that is in the catalogue; who earns is an account, which is opened apart. */
export type Written = Omit<Offering, 'payee'>

/** By what rules services are sold. */
export interface Terms {
  /** Services whose price goes to somebody outside, whole, out of the platform's wallet. */
  readonly passThrough: ReadonlySet<string>
  readonly defaultCommissionBps: number
}

/** What a price costs at most: the price itself when it is fixed. */
export const maxPrice = ({ price }: AnyEndpoint): Micros =>
  typeof price === 'bigint' ? price : price.max

export const routesOf = ({ endpoints }: AnyService): readonly [Route, AnyEndpoint][] =>
  Object.entries(endpoints) as [Route, AnyEndpoint][]

/** Whether a service that says so itself has something to sell. */
export const stateOf = async ({ isListed }: AnyService): Promise<'active' | 'unlisted'> =>
  isListed === undefined || (await isListed()) ? 'active' : 'unlisted'

/** Services of a family mostly share their schemas. */
const schemaTexts = new WeakMap<object, string>()
function schemaText({ json }: Schema<unknown>): string {
  const text = schemaTexts.get(json) ?? canonicalJson(json)
  schemaTexts.set(json, text)
  return text
}

/** Of all that the catalogue writes of a service: as long as it is the same, nothing is written. */
export const digestOf = (service: AnyService): string => {
  const { name, category, summary, provider, freeCallsPerMonth = 0 } = service
  const routes = routesOf(service).map(([route, endpoint]) => [
    route,
    endpoint.summary,
    String(maxPrice(endpoint)),
    typeof endpoint.price,
    schemaText(endpoint.input),
    endpoint.output && schemaText(endpoint.output),
  ])
  const written = JSON.stringify([name, category, summary, provider, freeCallsPerMonth, routes])
  return createHash('sha256').update(written).digest('hex')
}

/**
 * Writes a service into the catalogue. A changed price becomes a new version.
 * @param family the one that it belongs to, if to any
 * @throws Error when its slug is somebody else's
 */
export async function writeService(
  client: PoolClient,
  service: AnyService,
  { passThrough, defaultCommissionBps }: Terms,
  family: string | null = null,
): Promise<readonly Written[]> {
  const { slug, name, category, summary, provider } = service
  const free = service.freeCallsPerMonth ?? 0
  const digest = family === null ? null : digestOf(service)
  const outside = passThrough.has(slug)
  const state = outside ? 'unlisted' : await stateOf(service) // a door is no service
  await client.query('INSERT INTO hub.provider (id) VALUES ($1) ON CONFLICT DO NOTHING', [provider])
  const { rows } = await client.query<{ rule: number | null }>(
    `INSERT INTO hub.service AS s (slug, name, category, summary, provider,
       free_calls_per_month, state, family, digest)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (slug) DO UPDATE SET name = $2, category = $3, summary = $4, provider = $5,
       free_calls_per_month = $6, state = $7, digest = $9, updated_at = now()
     WHERE s.family IS NOT DISTINCT FROM $8
     RETURNING hub.commission_of(s.provider, s.slug) AS rule`,
    [slug, name, category, summary, provider, free, state, family, digest],
  )
  const [terms] = rows
  if (!terms) throw new Error(`service ${slug}: the slug is taken`)
  const bps = outside ? 0 : commissionBps(provider, terms.rule, defaultCommissionBps)
  const written: Written[] = []
  for (const [route, endpoint] of routesOf(service)) {
    if (family === null) for (const schema of schemasOf(endpoint)) compile(schema) // wrong: refused
    written.push(await writeEndpoint(client, service, route, endpoint, bps))
  }
  return written
}

async function writeEndpoint(
  client: PoolClient,
  service: AnyService,
  route: Route,
  endpoint: AnyEndpoint,
  commission: number,
): Promise<Written> {
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
  const { version } = versions[0]!
  return writtenOf(service, route, endpoint, { id, version, bps: commission })
}

const schemasOf = ({ input, output }: AnyEndpoint) => (output ? [input, output] : [input])

/** What the catalogue knows of an endpoint. */
export interface EndpointRow {
  readonly id: number
  /** Of its price. */
  readonly version: number
  /** Of its commission, in that version. */
  readonly bps: number
}

export function writtenOf(
  service: AnyService,
  route: Route,
  endpoint: AnyEndpoint,
  { id, version, bps }: EndpointRow,
): Written {
  const [method, path] = route.split(' ') as [string, string]
  return {
    service,
    endpoint,
    endpointId: id,
    method,
    path,
    priceVersion: version,
    commissionBps: bps,
    checkInput: compiledWhenAsked(endpoint.input),
    checkOutput: endpoint.output && compiledWhenAsked(endpoint.output),
  }
}

/** An owner may list a hundred endpoints, with two thousand schemas: each waits for a call. */
const compiledWhenAsked =
  (schema: Schema<unknown>): Check =>
  (value) =>
    compile(schema)(value)
