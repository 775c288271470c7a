import type { PoolClient } from 'pg'
import { Fault } from '../../errors.ts'
import type { UpstreamInfo } from './store.ts'

/** Whether it is sold, or would be as soon as an administrator approves of it. */
export const isOffered = ({ state }: Pick<UpstreamInfo, 'state'>): boolean =>
  state === 'active' || state === 'pending'

type On = Pick<PoolClient, 'query'>

/** What a service still needs before it can be sold. */
export async function missingOf(on: On, slug: string): Promise<readonly string[]> {
  return [...(await unpriced(on, slug)), ...(await unsigned(on, slug))]
}

/** @throws Fault `service_incomplete` */
export async function assertComplete(on: On, slug: string): Promise<void> {
  const missing = await missingOf(on, slug)
  if (missing.length === 0) return
  throw new Fault('service_incomplete', `It still needs: ${missing.join(', ')}.`, {
    extras: { missing },
  })
}

async function unpriced(on: On, slug: string): Promise<readonly string[]> {
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

/** The secret that its document asks for, where none is set: every call would be refused. */
async function unsigned(on: On, slug: string): Promise<readonly string[]> {
  const { rows } = await on.query<{ secret: string | null }>(
    `SELECT i.report #>> '{wants,0,in}' || ' ' || (i.report #>> '{wants,0,name}') AS secret
     FROM hub.upstream_import i JOIN hub.upstream_endpoint e ON e.service = i.service AND e.listed
       AND i.report -> 'guarded' ? (e.method || ' ' || e.upstream_path)
     WHERE i.service = $1
       AND NOT EXISTS (SELECT FROM hub.upstream_secret s WHERE s.service = i.service) LIMIT 1`,
    [slug],
  )
  return rows.map(({ secret }) => `a secret: ${secret ?? 'header Authorization'}`)
}
