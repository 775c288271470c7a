import type { PoolClient } from 'pg'
import { Fault } from '../../errors.ts'
import { findMissingTests } from './endpoint-tests.ts'

type Queryable = Pick<PoolClient, 'query'>

export const MISSING_KINDS = ['endpoint', 'price', 'secret', 'test'] as const

/** Part that a service needs before it can be sold. */
export interface MissingPart {
  readonly kind: (typeof MISSING_KINDS)[number]
  /** In words: `a price of GET /tides`. */
  readonly what: string
}

/** Lists what the declaration of a service lacks: endpoints, prices and the secret. */
export async function missingDeclarations(
  on: Queryable,
  slug: string,
): Promise<readonly MissingPart[]> {
  return [...(await findMissingPrices(on, slug)), ...(await findMissingSecret(on, slug))]
}

/** Lists what a service still needs before it can be sold. */
export async function missingParts(on: Queryable, slug: string): Promise<readonly MissingPart[]> {
  return [
    ...(await missingDeclarations(on, slug)),
    ...(await findMissingTests(on, slug)).map(neededTest),
  ]
}

/** Describes the test call that an endpoint needs. */
export const neededTest = (route: string): MissingPart => ({
  kind: 'test',
  what: `a passing test call of ${route}`,
})

/** @throws Fault `service_incomplete` if it lacks anything, also a test call */
export const assertComplete = async (on: Queryable, slug: string): Promise<void> =>
  assertNone(await missingParts(on, slug))

/** @throws Fault `service_incomplete` if it lacks a declaration */
export const assertDeclared = async (on: Queryable, slug: string): Promise<void> =>
  assertNone(await missingDeclarations(on, slug))

function assertNone(missing: readonly MissingPart[]): void {
  if (missing.length === 0) return
  const list = missing.map(({ what }) => what).join(', ')
  throw new Fault('service_incomplete', `The service still needs: ${list}.`, {
    extras: { missing },
  })
}

/** Lists endpoints without a price, or the lack of any endpoint. */
async function findMissingPrices(on: Queryable, slug: string): Promise<readonly MissingPart[]> {
  const { rows } = await on.query<{ endpoints: number; unpriced: string[] }>(
    `SELECT count(*)::integer AS endpoints, coalesce(array_agg(e.method || ' ' || e.path
         ORDER BY e.position) FILTER (WHERE NOT EXISTS (SELECT FROM hub.upstream_price p
           WHERE p.service = e.service AND p.method = e.method AND p.path = e.path
             AND p.withdrawn_at IS NULL)), '{}') AS unpriced
     FROM hub.upstream_endpoint e WHERE e.service = $1 AND e.listed`,
    [slug],
  )
  const { endpoints = 0, unpriced: routes = [] } = rows[0] ?? {}
  if (endpoints === 0) return [{ kind: 'endpoint', what: 'an endpoint' }]
  return routes.map((route) => ({ kind: 'price', what: `a price of ${route}` }))
}

/** Finds a secret that the imported document requires and that is not set. */
async function findMissingSecret(on: Queryable, slug: string): Promise<readonly MissingPart[]> {
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
    const what = `a secret: ${names.join(', or ') || (secret ?? 'header Authorization')}`
    return { kind: 'secret', what }
  })
}
