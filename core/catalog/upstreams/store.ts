import type { Pool, PoolClient } from 'pg'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import type { UpstreamEndpoint } from '../../plugin/upstreams.ts'
import { ensureProvider } from '../../providers/providers.ts'
import { isReserved } from '../services/declaration.ts'

/** Family of imported services. */
export const UPSTREAM_FAMILY = 'upstream'

export type UpstreamState = 'draft' | 'pending' | 'active' | 'paused' | 'suspended' | 'retired'

/** Imported API, as shown to its owner. */
export interface UpstreamInfo {
  readonly slug: string
  readonly owner: string
  readonly provider: string
  readonly name: string
  readonly category: string
  readonly summary: string
  readonly baseUrl: string
  readonly freeCallsPerMonth: number
  readonly requestHeaders: readonly string[]
  readonly responseHeaders: readonly string[]
  readonly healthPath: string
  readonly state: UpstreamState
  /** Reason of a suspension. */
  readonly reason: string | null
  readonly activatedAt: Date | null
  /** Days in UTC. */
  readonly deprecatedOn: string | null
  readonly sunsetOn: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Returns true if a service is on sale, or will be once an administrator approves it. */
export const isOffered = ({ state }: Pick<UpstreamInfo, 'state'>): boolean =>
  state === 'active' || state === 'pending'

const UPSTREAM_COLUMNS = `slug, owner, provider, name, category, summary, base_url AS "baseUrl",
  free_calls_per_month AS "freeCallsPerMonth", request_headers AS "requestHeaders",
  response_headers AS "responseHeaders", health_path AS "healthPath", state, reason,
  activated_at AS "activatedAt",
  deprecated_on::text AS "deprecatedOn", sunset_on::text AS "sunsetOn",
  created_at AS "createdAt", updated_at AS "updatedAt"`

export type NewUpstream = Pick<
  UpstreamInfo,
  | 'slug'
  | 'name'
  | 'category'
  | 'summary'
  | 'baseUrl'
  | 'freeCallsPerMonth'
  | 'requestHeaders'
  | 'responseHeaders'
  | 'healthPath'
>

/** Members to change; omitted ones keep their value. */
export type UpstreamChange = {
  readonly [K in Exclude<keyof NewUpstream, 'slug'>]?: NewUpstream[K] | undefined
}

const OWNER_SERVICES_MAX = 50
/** Includes retired services, because a service that was once sold keeps its slug. */
const OWNER_SLUGS_MAX = 500

/** Creates a draft, reserving its slug. @throws Fault `slug_taken`, `too_many_services` */
export async function createUpstream(
  client: PoolClient,
  owner: string,
  draft: NewUpstream,
): Promise<UpstreamInfo> {
  const provider = await ensureProvider(client, owner)
  await assertBelowLimits(client, owner)
  const { slug, name, category, summary } = draft
  const inserted = await client.query(
    `INSERT INTO hub.service (slug, name, category, summary, provider, free_calls_per_month, state,
       family) VALUES ($1, $2, $3, $4, $5, 0, 'unlisted', '${UPSTREAM_FAMILY}')
     ON CONFLICT DO NOTHING`,
    [slug, name, category, summary, provider],
  )
  if (isReserved(slug) || inserted.rowCount !== 1) {
    throw new Fault('slug_taken', `The slug "${slug}" is taken. Choose another one.`)
  }
  const { rows } = await client.query<UpstreamInfo>(
    `INSERT INTO hub.upstream (slug, owner, provider, name, category, summary, base_url,
       free_calls_per_month, request_headers, response_headers, health_path)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING ${UPSTREAM_COLUMNS}`,
    [
      slug,
      owner,
      provider,
      name,
      category,
      summary,
      draft.baseUrl,
      draft.freeCallsPerMonth,
      draft.requestHeaders,
      draft.responseHeaders,
      draft.healthPath,
    ],
  )
  await client.query('INSERT INTO hub.upstream_health (service) VALUES ($1)', [slug])
  return rows[0]!
}

/** Race-free, because `ensureProvider` has locked the owner's row. */
async function assertBelowLimits(client: PoolClient, owner: string): Promise<void> {
  const { rows } = await client.query<{ living: number; all: number }>(
    `SELECT count(*) FILTER (WHERE state <> 'retired')::integer AS living, count(*)::integer AS all
     FROM hub.upstream WHERE owner = $1`,
    [owner],
  )
  const { living, all } = rows[0]!
  if (living >= OWNER_SERVICES_MAX) throw new Fault('too_many_services')
  if (all < OWNER_SLUGS_MAX) return
  const detail = `You have used ${all} slugs, including those of retired services.`
  throw new Fault('too_many_services', detail)
}

/** Lists the imported services of an owner, sorted by slug. */
export async function listUpstreams(
  pool: Pool,
  manager: KeyManager,
  { limit, after }: { readonly limit: number; readonly after: string | undefined },
): Promise<UpstreamInfo[]> {
  const { rows } = await pool.query<UpstreamInfo>(
    `SELECT ${UPSTREAM_COLUMNS} FROM hub.upstream
     WHERE owner = ANY ($1) AND slug > $2 ORDER BY slug LIMIT $3`,
    [manager, after ?? '', limit],
  )
  return rows
}

/** Finds an owner's service; `lock` locks its row. @throws Fault `service_not_found` */
export async function findUpstream(
  on: Pick<PoolClient, 'query'>,
  manager: KeyManager,
  slug: string,
  lock = false,
): Promise<UpstreamInfo> {
  const { rows } = await on.query<UpstreamInfo>(
    `SELECT ${UPSTREAM_COLUMNS} FROM hub.upstream WHERE slug = $1 AND owner = ANY ($2)
     ${lock ? 'FOR UPDATE' : ''}`,
    [slug, manager],
  )
  if (!rows[0]) throw notFound(slug)
  return rows[0]
}

/** Finds and locks a service of any owner, for administrators. @throws Fault `service_not_found` */
export async function lockUpstream(client: PoolClient, slug: string): Promise<UpstreamInfo> {
  const { rows } = await client.query<UpstreamInfo>(
    `SELECT ${UPSTREAM_COLUMNS} FROM hub.upstream WHERE slug = $1 FOR UPDATE`,
    [slug],
  )
  if (!rows[0]) throw notFound(slug)
  return rows[0]
}

const notFound = (slug: string): Fault =>
  new Fault(
    'service_not_found',
    `You have no service "${slug}". GET /v1/provider/services lists yours.`,
  )

const ENDPOINT_COLUMNS = `method, path, upstream_path AS "upstreamPath", summary, input, output,
  query, body, encoding, success, passes, charges,
  deadline_seconds AS "deadlineSeconds", max_bytes AS "maxBytes", streams, idempotent, retries`

export type EndpointInfo = Omit<UpstreamEndpoint, 'price' | 'metered'>

/** Reads the listed endpoints of a service in the owner's order. */
export async function readEndpoints(
  on: Pick<PoolClient, 'query'>,
  slug: string,
): Promise<EndpointInfo[]> {
  const { rows } = await on.query<EndpointInfo>(
    `SELECT ${ENDPOINT_COLUMNS} FROM hub.upstream_endpoint
     WHERE service = $1 AND listed ORDER BY position`,
    [slug],
  )
  return rows
}

/** Replaces all endpoints of a service. Their prices are kept, and changed by `setPrice` only. */
export async function writeEndpoints(
  client: PoolClient,
  slug: string,
  endpoints: readonly EndpointInfo[],
): Promise<void> {
  await client.query(
    'UPDATE hub.upstream_endpoint SET listed = false WHERE service = $1 AND listed',
    [slug],
  )
  await client.query(
    `INSERT INTO hub.upstream_endpoint (service, method, path, position, upstream_path, summary,
       input, output, query, body, encoding, success, passes, charges, deadline_seconds,
       max_bytes, streams, idempotent, retries)
     SELECT $1, e.method, e.path, n - 1, e."upstreamPath", e.summary, e.input, e.output, e.query,
       e.body, e.encoding, e.success, e.passes, coalesce(e.charges, '{}'),
       e."deadlineSeconds", e."maxBytes", e.streams, e.idempotent, e.retries
     FROM ROWS FROM (jsonb_to_recordset($2) AS (method text, path text, "upstreamPath" text,
       summary text, input jsonb, output jsonb, query text[], body text, encoding jsonb,
       success smallint[], passes smallint[], charges smallint[], "deadlineSeconds" smallint,
       "maxBytes" integer, streams boolean, idempotent boolean, retries smallint))
       WITH ORDINALITY AS e (method, path, "upstreamPath", summary, input, output, query, body,
       encoding, success, passes, charges, "deadlineSeconds", "maxBytes", streams,
       idempotent, retries, n)
     ON CONFLICT (service, method, path) DO UPDATE SET position = excluded.position,
       upstream_path = excluded.upstream_path, summary = excluded.summary,
       input = excluded.input, output = excluded.output, query = excluded.query,
       body = excluded.body, encoding = excluded.encoding, success = excluded.success,
       passes = excluded.passes, charges = excluded.charges,
       deadline_seconds = excluded.deadline_seconds, max_bytes = excluded.max_bytes,
       streams = excluded.streams, idempotent = excluded.idempotent, retries = excluded.retries,
       listed = true`,
    [
      slug,
      JSON.stringify(endpoints, (_, value: unknown) => (typeof value === 'bigint' ? null : value)),
    ],
  )
  await client.query('UPDATE hub.upstream SET updated_at = now() WHERE slug = $1', [slug])
}
