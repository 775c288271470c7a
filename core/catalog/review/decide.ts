import type { PoolClient } from 'pg'
import { Fault } from '../../errors.ts'
import { approveDomain, refuseDomain } from '../domains/versions.ts'
import { approve, refuse } from '../upstreams/lifecycle.ts'
import { type Review, readReview } from './versions.ts'

/** Upstream or domain that an owner describes: the subject of versions. */
export interface Described {
  readonly subject: string
  readonly kind: 'upstream' | 'domain'
  readonly state: string
}

/** Finds the upstream or domain of a service. @throws Fault `not_found` for a plugin's service */
export async function findDescribed(
  on: Pick<PoolClient, 'query'>,
  slug: string,
): Promise<Described> {
  const { rows } = await on.query<Described>(
    `SELECT slug AS subject, 'upstream' AS kind, state FROM hub.upstream WHERE slug = $1
     UNION ALL SELECT id, 'domain', state FROM hub.domain
       WHERE slug = $1 AND state IN ('verified', 'expired')`,
    [slug],
  )
  if (!rows[0]) throw new Fault('not_found', 'No provider describes a service with this slug.')
  return rows[0]
}

/** State of a service, and the version that callers see. */
export interface ReviewState {
  readonly state: string
  readonly version: number | null
}

/**
 * Approves or refuses the version that an administrator has reviewed.
 * @param refusal reason for the owner; undefined to approve
 * @throws Fault `not_found`, and as `approve`
 */
export async function decideReview(
  client: PoolClient,
  slug: string,
  version: number | undefined,
  refusal: string | undefined,
): Promise<{ readonly before: ReviewState; readonly after: ReviewState }> {
  const found = await findDescribed(client, slug)
  const before = stateOf(found.state, await readReview(client, found.subject))
  if (found.kind === 'domain') {
    await (refusal === undefined
      ? approveDomain(client, found.subject, version)
      : refuseDomain(client, found.subject, version, refusal))
  } else {
    await (refusal === undefined
      ? approve(client, slug, version)
      : refuse(client, slug, version, refusal))
  }
  const { state } = await findDescribed(client, slug)
  return { before, after: stateOf(state, await readReview(client, found.subject)) }
}

const stateOf = (state: string, { approved }: Review): ReviewState => ({
  state,
  version: approved?.version ?? null,
})
