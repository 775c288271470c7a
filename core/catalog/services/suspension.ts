import type { ClientBase, Pool, PoolClient } from 'pg'
import { Fault } from '../../errors.ts'
import { LoadingCache } from '../../runtime/cache.ts'
import { approve, suspend as suspendUpstream } from '../upstreams/lifecycle.ts'

/** Unit of suspension: a service, or all services of a provider. */
export type Suspendable = 'service' | 'provider'

/** Suspension of a service or provider, as shown to administrators. */
export interface SuspensionStatus {
  /** Service slug or provider id. */
  readonly id: string
  readonly suspendedAt: Date | null
  readonly reason: string | null
}

const KEY = { service: 'slug', provider: 'id' } as const

/** @throws Fault `not_found` */
export async function readSuspension(
  database: Pool | ClientBase,
  kind: Suspendable,
  id: string,
): Promise<SuspensionStatus> {
  const { rows } = await database.query<SuspensionStatus>(
    `SELECT ${KEY[kind]} AS id, suspended_at AS "suspendedAt", suspended_reason AS reason
     FROM hub.${kind} WHERE ${KEY[kind]} = $1`,
    [id],
  )
  if (!rows[0]) throw new Fault('not_found', `There is no such ${kind}.`)
  return rows[0]
}

/**
 * Suspends or resumes a service or provider. Within a second nobody can call it; lists and searches
 * omit it at once. Pending calls finish, and earnings are kept.
 * @param reason null to resume
 * @returns false if nothing changed
 */
export async function setSuspension(
  client: ClientBase,
  kind: Suspendable,
  id: string,
  reason: string | null,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `UPDATE hub.${kind} SET suspended_reason = $2,
       suspended_at = CASE WHEN $2::text IS NOT NULL THEN coalesce(suspended_at, now()) END
     WHERE ${KEY[kind]} = $1 AND suspended_reason IS DISTINCT FROM $2`,
    [id, reason],
  )
  if (rowCount !== 1) return false
  const of = kind === 'service' ? 'slug' : 'provider'
  // The trigger hold_back unlists it.
  await client.query(`UPDATE hub.service SET updated_at = now() WHERE ${of} = $1`, [id])
  await client.query(`SELECT hub.index_service(slug) FROM hub.service WHERE ${of} = $1`, [id])
  return true
}

/**
 * Suspends or resumes an imported service; its owner sees the reason. To resume it, an
 * administrator approves the version that they have reviewed.
 * @param reviewed required to resume
 * @returns undefined if the service was not imported
 * @throws Fault `service_state`, `service_changed`; `validation_failed` without a version
 */
export async function setUpstreamSuspension(
  client: PoolClient,
  slug: string,
  reason: string | null,
  reviewed: number | undefined,
): Promise<{ readonly before: string; readonly after: string } | undefined> {
  const { rows } = await client.query<{ state: string }>(
    'SELECT state FROM hub.upstream WHERE slug = $1 FOR UPDATE',
    [slug],
  )
  if (!rows[0]) return undefined
  const { state: before } = rows[0]
  if (reason !== null) {
    const { state: after } = await suspendUpstream(client, slug, reason)
    return { before, after }
  }
  if (before !== 'suspended') return { before, after: before }
  const { state: after } = await approve(client, slug, reviewed)
  return { before, after }
}

/** Maximum delay until every process applies a change. */
const CACHE_MS = 1_000

const FIND = {
  name: 'catalog.suspended',
  text: `SELECT slug FROM hub.service WHERE suspended_at IS NOT NULL
    UNION SELECT s.slug FROM hub.provider p JOIN hub.service s ON s.provider = p.id
    WHERE p.suspended_at IS NOT NULL`,
}

/** Set of suspended services, read at most once a second. */
export class Suspensions {
  readonly #pool: Pool
  /** Single entry: all suspended slugs. */
  readonly #cache: LoadingCache<'all', ReadonlySet<string>>

  /** @param now see `TtlOptions` */
  constructor(pool: Pool, now?: () => number) {
    this.#pool = pool
    this.#cache = new LoadingCache(() => this.#find(), { ttlMs: CACHE_MS, max: 1, now })
  }

  /** Returns a promise only if the set must be read first. @throws Fault `service_suspended` */
  assertNotSuspended(slug: string): Promise<void> | undefined {
    const suspended = this.#cache.get('all')
    if (!suspended) return this.#cache.load('all').then((read) => assertNotIn(read, slug))
    assertNotIn(suspended, slug)
  }

  async #find(): Promise<ReadonlySet<string>> {
    const { rows } = await this.#pool.query<{ slug: string }>(FIND)
    return new Set(rows.map(({ slug }) => slug))
  }
}

function assertNotIn(suspended: ReadonlySet<string>, slug: string): void {
  if (suspended.has(slug)) throw new Fault('service_suspended')
}
