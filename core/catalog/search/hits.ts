import type { Pool } from 'pg'
import { type Listing, servicesNamed } from '../services/published-services.ts'
import type { Ranked } from './rank.ts'

/** A listing of somebody else's as a search shows it. */
export interface ExternalHit {
  readonly id: string
  readonly url: string
  readonly method: string
  readonly name: string
  readonly category: string
  readonly summary: string
  readonly provider: string
  readonly tags: readonly string[]
  readonly network: string
  readonly price: bigint
  readonly payable: boolean
  readonly state: string
  readonly uptimePercentage: number | null
  readonly latencyMs: number | null
  readonly lastVerifiedAt: Date
}

/** A hit with what is shown of it. */
export type Hit = Pick<Ranked, 'score' | 'why'> &
  ({ readonly service: Listing } | { readonly external: ExternalHit })

/** Reads what is shown of hits. One that has gone since it was found is left out. */
export async function readHits(pool: Pool, ranked: readonly Ranked[]): Promise<Hit[]> {
  const ids = (kind: 'native' | 'external') =>
    ranked.flatMap(({ candidate }) => (candidate.kind === kind ? [candidate.id] : []))
  const [services, externals] = await Promise.all([
    servicesNamed(pool, ids('native')),
    externalsNamed(pool, ids('external')),
  ])
  const serviceBySlug = new Map(services.map((service) => [service.slug, service]))
  const externalById = new Map(externals.map((external) => [external.id, external]))
  return ranked.flatMap(({ candidate: { kind, id }, score, why }): Hit[] => {
    if (kind === 'native') {
      const service = serviceBySlug.get(id)
      return service ? [{ score, why, service }] : []
    }
    const external = externalById.get(id)
    return external ? [{ score, why, external }] : []
  })
}

async function externalsNamed(pool: Pool, ids: readonly string[]): Promise<ExternalHit[]> {
  if (ids.length === 0) return []
  const { rows } = await pool.query<ExternalHit>(
    `SELECT l.id, l.url, l.method, l.name, l.category, l.description AS summary, l.provider, l.tags,
       l.network, l.price, l.payable, l.state, l.uptime::float8 AS "uptimePercentage",
       l.latency_p50_ms AS "latencyMs", l.last_verified_at AS "lastVerifiedAt"
     FROM hub.listing l WHERE l.id = ANY ($1) AND l.state IN ('active', 'degraded')`,
    [ids],
  )
  return rows
}
