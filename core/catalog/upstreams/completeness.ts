import type { PoolClient } from 'pg'
import { Fault } from '../../errors.ts'

type Queryable = Pick<PoolClient, 'query'>

/** Lists what a service still needs before it can be sold. */
export async function missingParts(on: Queryable, slug: string): Promise<readonly string[]> {
  return [...(await findMissingPrices(on, slug)), ...(await findMissingSecret(on, slug))]
}

/** @throws Fault `service_incomplete` */
export async function assertComplete(on: Queryable, slug: string): Promise<void> {
  const missing = await missingParts(on, slug)
  if (missing.length === 0) return
  throw new Fault('service_incomplete', `The service still needs: ${missing.join(', ')}.`, {
    extras: { missing },
  })
}

/** Lists endpoints without a price, or the lack of any endpoint. */
async function findMissingPrices(on: Queryable, slug: string): Promise<readonly string[]> {
  const { rows } = await on.query<{ endpoints: number; unpriced: string[] }>(
    `SELECT count(*)::integer AS endpoints, coalesce(array_agg(e.method || ' ' || e.path
         ORDER BY e.position) FILTER (WHERE NOT EXISTS (SELECT FROM hub.upstream_price p
           WHERE p.service = e.service AND p.method = e.method AND p.path = e.path
             AND p.withdrawn_at IS NULL)), '{}') AS unpriced
     FROM hub.upstream_endpoint e WHERE e.service = $1 AND e.listed`,
    [slug],
  )
  const { endpoints = 0, unpriced: routes = [] } = rows[0] ?? {}
  if (endpoints === 0) return ['an endpoint']
  return routes.map((route) => `a price of ${route}`)
}

/** Finds a secret that the imported document requires and that is not set. */
async function findMissingSecret(on: Queryable, slug: string): Promise<readonly string[]> {
  const { rows } = await on.query<{ secret: string | null; choices: string[][] | null }>(
    `SELECT i.report #>> '{wants,0,in}' || ' ' || (i.report #>> '{wants,0,name}') AS secret,
       i.report -> 'secretChoices' AS choices
     FROM hub.upstream_import i JOIN hub.upstream_endpoint e ON e.service = i.service AND e.listed
       AND i.report -> 'guarded' ? (e.method || ' ' || e.upstream_path)
     WHERE i.service = $1
       AND NOT EXISTS (SELECT FROM hub.upstream u JOIN hub.upstream_secret s
         ON s.service = u.slug AND s.origin = hub.origin_of(u.base_url) AND s.listed
         WHERE u.slug = i.service) LIMIT 1`,
    [slug],
  )
  return rows.map(({ secret, choices }) => {
    const names = choices?.map((each) => each.join(' and ')) ?? []
    return `a secret: ${names.join(', or ') || (secret ?? 'header Authorization')}`
  })
}
