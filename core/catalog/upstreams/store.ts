import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import type { UpstreamEndpoint } from '../../plugin/upstreams.ts'
import { ensureProvider } from '../../providers/providers.ts'
import { isReserved } from '../services/declaration.ts'
import { missingParts } from './completeness.ts'

/** The family that these services belong to. */
export const UPSTREAM_FAMILY = 'upstream'

export type UpstreamState = 'draft' | 'pending' | 'active' | 'paused' | 'suspended' | 'retired'

/** An API that is listed without code, as its owner sees it. */
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
  /** Why it is suspended. */
  readonly reason: string | null
  /** Rises with each change of what it is, where it is and what it sells. */
  readonly revision: number
  readonly approvedAt: Date | null
  readonly activatedAt: Date | null
  /** Days in UTC. */
  readonly deprecatedOn: string | null
  readonly sunsetOn: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Whether it is sold, or would be as soon as an administrator approves of it. */
export const isOffered = ({ state }: Pick<UpstreamInfo, 'state'>): boolean =>
  state === 'active' || state === 'pending'

const UPSTREAM_COLUMNS = `slug, owner, provider, name, category, summary, base_url AS "baseUrl",
  free_calls_per_month AS "freeCallsPerMonth", request_headers AS "requestHeaders",
  response_headers AS "responseHeaders", health_path AS "healthPath", state, reason, revision,
  approved_at AS "approvedAt", activated_at AS "activatedAt",
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

/** What of it may be changed; what is left out stays. */
export type UpstreamChange = {
  readonly [K in Exclude<keyof NewUpstream, 'slug'>]?: NewUpstream[K] | undefined
}

const OWNER_SERVICES_MAX = 50
/** With those that have ended: whoever sold something keeps its slug. */
const OWNER_SLUGS_MAX = 500

/**
 * Makes a draft. Its slug is taken from now on.
 * @throws Fault `slug_taken`, `too_many_services`
 */
export async function createUpstream(
  client: PoolClient,
  owner: string,
  draft: NewUpstream,
): Promise<UpstreamInfo> {
  const provider = await ensureProvider(client, owner)
  await assertBelowLimits(client, owner)
  const { slug, name, category, summary } = draft
  const taken = await client.query(
    `INSERT INTO hub.service (slug, name, category, summary, provider, free_calls_per_month, state,
       family) VALUES ($1, $2, $3, $4, $5, 0, 'unlisted', '${UPSTREAM_FAMILY}') ON CONFLICT DO NOTHING`,
    [slug, name, category, summary, provider],
  )
  if (isReserved(slug) || taken.rowCount !== 1) {
    throw new Fault('slug_taken', `"${slug}" is taken: choose another slug.`)
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

/** Counted while nobody else makes one for the same owner: `providerOf` has locked its row. */
async function assertBelowLimits(client: PoolClient, owner: string): Promise<void> {
  const { rows } = await client.query<{ living: number; all: number }>(
    `SELECT count(*) FILTER (WHERE state <> 'retired')::integer AS living, count(*)::integer AS all
     FROM hub.upstream WHERE owner = $1`,
    [owner],
  )
  const { living, all } = rows[0]!
  if (living >= OWNER_SERVICES_MAX) throw new Fault('too_many_services')
  if (all < OWNER_SLUGS_MAX) return
  throw new Fault('too_many_services', `${all} slugs are yours, with those that have ended.`)
}

/** Those of an owner, by slug. */
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

/**
 * One of an owner's.
 * @param lock for whoever changes it next
 * @throws Fault `service_not_found`, for those of others too
 */
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

/** One of anybody's, locked: for administrators. @throws Fault `service_not_found` */
export async function lockUpstream(client: PoolClient, slug: string): Promise<UpstreamInfo> {
  const { rows } = await client.query<UpstreamInfo>(
    `SELECT ${UPSTREAM_COLUMNS} FROM hub.upstream WHERE slug = $1 FOR UPDATE`,
    [slug],
  )
  if (!rows[0]) throw notFound(slug)
  return rows[0]
}

const notFound = (slug: string): Fault =>
  new Fault('service_not_found', `GET /v1/provider/services lists yours; "${slug}" is not there.`)

/** Whose secrets are gone, and what has to be approved of again, with another host. */
const isOtherOrigin = (before: string, after: string): boolean =>
  new URL(before).origin !== new URL(after).origin

/**
 * Changes how it is shown, or where it is. At another host it has no secrets, since who changes
 * the address must not learn them, and is not sold while it needs one; and where administrators
 * approve, they do so anew.
 * @throws Fault `service_not_found`, `service_state` for what is retired
 */
export function changeUpstream(
  pool: Pool,
  manager: KeyManager,
  slug: string,
  change: UpstreamChange,
  approval: boolean,
): Promise<UpstreamInfo> {
  return inTransaction(pool, async (client) => {
    const before = await findUpstream(client, manager, slug, true)
    if (before.state === 'retired') throw new Fault('service_state', 'It is retired.')
    const after = { ...before, ...definedOnly(change) }
    const elsewhere = isOtherOrigin(before.baseUrl, after.baseUrl)
    if (elsewhere) await client.query('DELETE FROM hub.upstream_secret WHERE service = $1', [slug])
    const isSold = elsewhere && before.state === 'active'
    const isIncomplete = isSold && (await missingParts(client, slug)).length > 0
    const next = isIncomplete ? 'paused' : isSold && approval ? 'pending' : before.state
    const { rows } = await client.query<UpstreamInfo>(
      `UPDATE hub.upstream SET name = $2, category = $3, summary = $4, base_url = $5,
         free_calls_per_month = $6, request_headers = $7, response_headers = $8, health_path = $9,
         approved_at = CASE WHEN $10 THEN NULL ELSE approved_at END,
         state = $11, updated_at = now()
       WHERE slug = $1 RETURNING ${UPSTREAM_COLUMNS}`,
      [
        slug,
        after.name,
        after.category,
        after.summary,
        after.baseUrl,
        after.freeCallsPerMonth,
        after.requestHeaders,
        after.responseHeaders,
        after.healthPath,
        elsewhere,
        next,
      ],
    )
    return rows[0]!
  })
}

/** Only what is said. */
const definedOnly = (change: object): Partial<NewUpstream> =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))

const ENDPOINT_COLUMNS = `method, path, upstream_path AS "upstreamPath", summary, input, output, query,
  body, success, passes, deadline_seconds AS "deadlineSeconds", max_bytes AS "maxBytes", streams,
  idempotent, retries`

export type EndpointInfo = Omit<UpstreamEndpoint, 'price'>

/** What is listed of a service, in the order of its owner. */
export async function readEndpoints(
  on: Pick<PoolClient, 'query'>,
  slug: string,
): Promise<EndpointInfo[]> {
  const { rows } = await on.query<EndpointInfo>(
    `SELECT ${ENDPOINT_COLUMNS} FROM hub.upstream_endpoint WHERE service = $1 AND listed ORDER BY position`,
    [slug],
  )
  return rows
}

/** Puts these endpoints in the place of those that there were. Prices are kept, and set apart. */
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
       input, output, query, body, success, passes, deadline_seconds, max_bytes, streams,
       idempotent, retries)
     SELECT $1, e.method, e.path, n - 1, e."upstreamPath", e.summary, e.input, e.output, e.query,
       e.body, e.success, e.passes, e."deadlineSeconds", e."maxBytes", e.streams, e.idempotent,
       e.retries
     FROM ROWS FROM (jsonb_to_recordset($2) AS (method text, path text, "upstreamPath" text,
       summary text, input jsonb, output jsonb, query text[], body text, success smallint[],
       passes smallint[], "deadlineSeconds" smallint, "maxBytes" integer, streams boolean,
       idempotent boolean, retries smallint)) WITH ORDINALITY AS e (method, path, "upstreamPath",
       summary, input, output, query, body, success, passes, "deadlineSeconds", "maxBytes",
       streams, idempotent, retries, n)
     ON CONFLICT (service, method, path) DO UPDATE SET position = excluded.position,
       upstream_path = excluded.upstream_path, summary = excluded.summary,
       input = excluded.input, output = excluded.output, query = excluded.query,
       body = excluded.body, success = excluded.success, passes = excluded.passes,
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
