import type { Pool } from 'pg'
import { type AssessedListing, assessListings } from '../listings/cautions.ts'
import { type PublishedService, servicesBySlug } from '../services/published-services.ts'
import type { RankedCandidate } from './rank.ts'

/** Hit with the details shown in search results. */
export type Hit = Pick<RankedCandidate, 'score' | 'why'> &
  ({ readonly service: PublishedService } | { readonly external: AssessedListing })

/** Part of a ranked candidate that `readHits` needs. */
export type RankedHit = Pick<RankedCandidate, 'score' | 'why'> & {
  readonly candidate: Pick<RankedCandidate['candidate'], 'kind' | 'id'>
}

/** Reads the details of hits. Those removed or down since the search are omitted. */
export async function readHits(
  pool: Pool,
  ranked: readonly RankedHit[],
  now: Date,
): Promise<Hit[]> {
  const ids = (kind: 'native' | 'external') =>
    ranked.flatMap(({ candidate }) => (candidate.kind === kind ? [candidate.id] : []))
  const [services, externals] = await Promise.all([
    servicesBySlug(pool, ids('native')),
    assessListings(pool, ids('external'), now),
  ])
  const serviceBySlug = new Map(services.map((service) => [service.slug, service]))
  const up = externals.filter(({ state }) => state === 'active' || state === 'degraded')
  const externalById = new Map(up.map((external) => [external.id, external]))
  return ranked.flatMap(({ candidate: { kind, id }, score, why }): Hit[] => {
    if (kind === 'native') {
      const service = serviceBySlug.get(id)
      return service ? [{ score, why, service }] : []
    }
    const external = externalById.get(id)
    return external ? [{ score, why, external }] : []
  })
}
