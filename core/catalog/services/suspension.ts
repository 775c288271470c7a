import type { ClientBase, Pool, PoolClient } from 'pg'
import { elapsedMs } from '../../clock.ts'
import { Fault } from '../../errors.ts'
import { inFlight } from '../../in-flight.ts'
import { approve, suspend as suspendUpstream } from '../upstreams/states.ts'

/** What can be stopped: a service, or all that a provider sells. */
export type Stoppable = 'service' | 'provider'

/** What is there to be stopped, as the operator sees it. */
export interface Standing {
  /** A slug, or the id of a provider. */
  readonly id: string
  readonly suspendedAt: Date | null
  readonly reason: string | null
}

const KEY = { service: 'slug', provider: 'id' } as const

/** @throws Fault `not_found` */
export async function standingOf(
  database: Pool | ClientBase,
  kind: Stoppable,
  id: string,
): Promise<Standing> {
  const { rows } = await database.query<Standing>(
    `SELECT ${KEY[kind]} AS id, suspended_at AS "suspendedAt", suspended_reason AS reason
     FROM hub.${kind} WHERE ${KEY[kind]} = $1`,
    [id],
  )
  if (!rows[0]) throw new Fault('not_found', `There is no such ${kind}.`)
  return rows[0]
}

/**
 * Stops a service, or all of a provider: within a second nobody can call it, and lists and searches
 * leave it out at once. Calls under way come to their end; what was earned stays.
 * @param reason null: lets it go on
 * @returns false when nothing changed
 */
export async function suspend(
  client: ClientBase,
  kind: Stoppable,
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
  // Its trigger hold_back takes it off the lists.
  await client.query(`UPDATE hub.service SET updated_at = now() WHERE ${of} = $1`, [id])
  await client.query(`SELECT hub.index_service(slug) FROM hub.service WHERE ${of} = $1`, [id])
  return true
}

/**
 * The same of a service that was listed without code, where its owner sees it too. An administrator
 * who lets it go on approves of it, as it was seen.
 * @param seen its revision then
 * @returns undefined where it is no such service
 * @throws Fault `service_state`, `service_changed`; `validation_failed` without a revision
 */
export async function suspendListed(
  client: PoolClient,
  slug: string,
  reason: string | null,
  seen: number | undefined,
): Promise<{ readonly before: string; readonly after: string } | undefined> {
  const { rows } = await client.query<{ state: string }>(
    'SELECT state FROM hub.upstream WHERE slug = $1 FOR UPDATE',
    [slug],
  )
  if (!rows[0]) return undefined
  const { state: before } = rows[0]
  const isStopped = before === 'suspended'
  if (reason === null && !isStopped && before !== 'pending') return { before, after: before }
  if (reason !== null) {
    const { state: after } = await suspendUpstream(client, slug, reason)
    return { before, after }
  }
  if (seen === undefined) {
    const issues = [{ path: '/revision', message: 'which one you have seen: GET …/services' }]
    throw new Fault('validation_failed', '/revision: which one have you seen?', {
      extras: { issues },
    })
  }
  const { state: after } = await approve(client, slug, seen)
  return { before, after }
}

/** A change takes effect within this time on every process. */
const CACHE_MS = 1_000

const FIND = {
  name: 'catalog.suspended',
  text: `SELECT slug FROM hub.service WHERE suspended_at IS NOT NULL
    UNION SELECT s.slug FROM hub.provider p JOIN hub.service s ON s.provider = p.id
    WHERE p.suspended_at IS NOT NULL`,
}

/** Which services are stopped; asked once a second, by whoever calls anything. */
export class Suspensions {
  readonly #pool: Pool
  #known: ReadonlySet<string> = new Set()
  #at = Number.NEGATIVE_INFINITY

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** @throws Fault `service_suspended` */
  async assertOn(slug: string): Promise<void> {
    if (elapsedMs() - this.#at >= CACHE_MS) await this.#look(FIND)
    if (this.#known.has(slug)) throw new Fault('service_suspended')
  }

  readonly #look = inFlight(async (query: typeof FIND) => {
    const at = elapsedMs()
    const { rows } = await this.#pool.query<{ slug: string }>(query)
    this.#known = new Set(rows.map(({ slug }) => slug))
    this.#at = at
  })
}
