import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import type { AnyService } from '../../plugin/index.ts'
import { routesOf, type Terms, type Written, writeService } from './publish.ts'

/**
 * Writes a service that came, or changed, while the hub runs. Endpoints that it has no more are
 * retired.
 */
export const publish = (
  pool: Pool,
  service: AnyService,
  terms: Terms,
): Promise<readonly Written[]> =>
  inTransaction(pool, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('hub.catalog'))`)
    const written = await writeService(client, service, terms)
    await client.query(
      `UPDATE hub.endpoint SET state = 'retired'
       WHERE service = $1 AND state = 'active' AND method || ' ' || path <> ALL ($2)`,
      [service.slug, routesOf(service).map(([route]) => route)],
    )
    await client.query('SELECT hub.index_service($1)', [service.slug])
    return written
  })

/** Retires a service that is sold no more. */
export const withdraw = (pool: Pool, slug: string): Promise<void> =>
  inTransaction(pool, async (client) => {
    await client.query(
      `UPDATE hub.service SET state = 'retired', updated_at = now()
       WHERE slug = $1 AND family IS NULL AND state <> 'retired'`,
      [slug],
    )
    await client.query('SELECT hub.index_service($1)', [slug])
  })
