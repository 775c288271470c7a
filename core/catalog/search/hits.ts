import type { Pool } from 'pg'
import { type PublishedService, servicesBySlug } from '../services/published-services.ts'
import type { RankedCandidate } from './rank.ts'

/** Listing as shown in search results. */
export interface ListingSummary {
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

/** Hit with the details shown in search results. */
export type Hit = Pick<RankedCandidate, 'score' | 'why'> &
  ({ readonly service: PublishedService } | { readonly external: ListingSummary })

/** Reads the details of hits. Those removed since the search are omitted. */
export async function readHits(pool: Pool, ranked: readonly RankedCandidate[]): Promise<Hit[]> {
  const ids = (kind: 'native' | 'external') =>
    ranked.flatMap(({ candidate }) => (candidate.kind === kind ? [candidate.id] : []))
  const [services, externals] = await Promise.all([
    servicesBySlug(pool, ids('native')),
    listingsById(pool, ids('external')),
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

async function listingsById(pool: Pool, ids: readonly string[]): Promise<ListingSummary[]> {
  if (ids.length === 0) return []
  const { rows } = await pool.query<ListingSummary>(
    `SELECT l.id, l.url, l.method, l.name, l.category, l.description AS summary, l.provider, l.tags,
       l.network, l.price, l.payable, l.state, l.uptime::float8 AS "uptimePercentage",
       l.latency_p50_ms AS "latencyMs", l.last_verified_at AS "lastVerifiedAt"
     FROM hub.listing l WHERE l.id = ANY ($1) AND l.state IN ('active', 'degraded')`,
    [ids],
  )
  return rows
}
