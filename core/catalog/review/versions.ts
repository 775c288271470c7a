import type { PoolClient } from 'pg'
import { Fault } from '../../errors.ts'
import type { JsonObject } from '../../json.ts'

type Queryable = Pick<PoolClient, 'query'>

/** Rules by which new versions are reviewed. */
export interface ReviewRules {
  /** True if an administrator must approve each version. */
  readonly approval: boolean
  /** Names that only the platform may use. */
  readonly platformNames: readonly string[]
}

/** One version of what callers see and send. */
export interface ContentVersion {
  readonly version: number
  readonly content: JsonObject
  /** Reasons why it needs a review even where none is configured. */
  readonly held: readonly string[]
  readonly createdAt: Date
}

/** Current versions of an upstream or a domain. */
export interface Review {
  /** Seen by callers; undefined before the first approval. */
  readonly approved: ContentVersion | undefined
  /** Newer one that awaits a decision. */
  readonly waiting: ContentVersion | undefined
  /** Refusal of the newest version, if it was refused. */
  readonly refused:
    | { readonly version: number; readonly reason: string; readonly at: Date }
    | undefined
}

interface VersionRow extends ContentVersion {
  readonly state: 'waiting' | 'approved' | 'replaced' | 'refused' | 'withdrawn'
  readonly reason: string | null
  readonly decidedAt: Date | null
}

const NEWEST = '(SELECT coalesce(max(version), 0) FROM hub.content_version WHERE subject = $1)'

/** @param subject slug of an upstream, or id of a domain */
export async function readReview(on: Queryable, subject: string): Promise<Review> {
  const { rows } = await on.query<VersionRow>(
    `SELECT version, state, content, held, created_at AS "createdAt", reason,
       decided_at AS "decidedAt" FROM hub.content_version
     WHERE subject = $1 AND (state IN ('waiting', 'approved')
       OR state = 'refused' AND version = ${NEWEST})`,
    [subject],
  )
  const refused = rows.find(({ state }) => state === 'refused')
  return {
    approved: rows.find(({ state }) => state === 'approved'),
    waiting: rows.find(({ state }) => state === 'waiting'),
    refused: refused && {
      version: refused.version,
      reason: refused.reason ?? '',
      at: refused.decidedAt ?? refused.createdAt,
    },
  }
}

/** Number that an administrator has to name: of the waiting version, else of the approved one. */
export const reviewedVersion = ({ waiting, approved }: Review): number | undefined =>
  (waiting ?? approved)?.version

/**
 * Records a content that differs from the newest version, in the transaction that changes it. It
 * replaces a waiting version. Without `review` and `held` it is approved at once; otherwise callers
 * still see the approved version. The approved content again withdraws what waits.
 */
export async function recordVersion(
  client: PoolClient,
  subject: string,
  content: JsonObject,
  { review, held }: { readonly review: boolean; readonly held: readonly string[] },
): Promise<void> {
  const isFree = !review && held.length === 0
  const text = JSON.stringify(content)
  const { rows } = await client.query<{ version: number; state: string }>(
    `SELECT version, state FROM hub.content_version
     WHERE subject = $1 AND state IN ('waiting', 'approved') AND content = $2
     ORDER BY version DESC LIMIT 1`,
    [subject, text],
  )
  const [same] = rows
  if (same?.state === 'approved') return endWaiting(client, subject, 'withdrawn')
  if (same) return isFree ? approveVersion(client, subject, same.version) : undefined
  await endWaiting(client, subject, 'replaced')
  const { rows: added } = await client.query<{ version: number }>(
    `INSERT INTO hub.content_version (subject, version, content, held)
     VALUES ($1, ${NEWEST} + 1, $2, $3) RETURNING version`,
    [subject, text, held],
  )
  if (isFree) await approveVersion(client, subject, added[0]!.version)
}

/** Drops the waiting version, if there is one: callers have never seen it. */
export async function endWaiting(
  client: PoolClient,
  subject: string,
  state: 'replaced' | 'withdrawn',
): Promise<void> {
  await client.query(
    `UPDATE hub.content_version SET state = $2, content = NULL, decided_at = now()
     WHERE subject = $1 AND state = 'waiting'`,
    [subject, state],
  )
}

/** Older approved contents are dropped beyond this number of versions. */
const CONTENTS_KEPT = 50

/** Approves the waiting version; callers see it from now on. */
export async function approveVersion(
  client: PoolClient,
  subject: string,
  version: number,
): Promise<void> {
  await client.query(
    `UPDATE hub.content_version SET state = 'replaced'
     WHERE subject = $1 AND state = 'approved'`,
    [subject],
  )
  await client.query(
    `UPDATE hub.content_version SET state = 'approved', decided_at = now()
     WHERE subject = $1 AND version = $2`,
    [subject, version],
  )
  await client.query(
    `UPDATE hub.content_version SET content = NULL
     WHERE subject = $1 AND state <> 'approved' AND content IS NOT NULL
       AND version <= $2::integer - ${CONTENTS_KEPT}`,
    [subject, version],
  )
}

/** Refuses the waiting version; callers still see the approved one. */
export async function refuseVersion(
  client: PoolClient,
  subject: string,
  version: number,
  reason: string,
): Promise<void> {
  await client.query(
    `UPDATE hub.content_version SET state = 'refused', reason = $3, decided_at = now()
     WHERE subject = $1 AND version = $2`,
    [subject, version, reason],
  )
}

/**
 * Checks that an administrator decides on what they have reviewed.
 * @throws Fault `validation_failed` without a version; `service_changed` for another one
 */
export function assertReviewed(review: Review, named: number | undefined): void {
  if (named === undefined) {
    const message = 'is required: the version that you have reviewed, from GET …/review'
    throw new Fault('validation_failed', 'Send the version that you have reviewed.', {
      extras: { issues: [{ path: '/version', message }] },
    })
  }
  const version = reviewedVersion(review)
  if (version === named) return
  throw new Fault('service_changed', `The service has changed since version ${named}.`, {
    extras: { version, base_url: (review.waiting ?? review.approved)?.content['baseUrl'] },
  })
}
