import type { PoolClient } from 'pg'
import { Fault } from '../../errors.ts'
import { holdReasons, imitatedService } from '../review/impersonation.ts'
import {
  approveVersion,
  assertReviewed,
  endWaiting,
  type Review,
  type ReviewRules,
  readReview,
  recordVersion,
  refuseVersion,
} from '../review/versions.ts'

/** Texts of a domain that callers read. */
export interface DomainTexts {
  readonly name: string
  readonly summary: string
}

const DEFAULT_SUMMARY = 'Pages of {host}, clean and structured, sold by their owner.'

/** Texts made of the host, which callers read until an owner's are approved. */
export const defaultTexts = (host: string): DomainTexts => ({
  name: host,
  summary: DEFAULT_SUMMARY.replace('{host}', host),
})

/** SQL of the texts that callers read; `d` is the domain. */
export const APPROVED_TEXTS = `SELECT coalesce(v.content ->> 'name', d.host) AS name,
  coalesce(v.content ->> 'summary', replace('${DEFAULT_SUMMARY}', '{host}', d.host)) AS summary
  FROM (SELECT) one LEFT JOIN hub.content_version v ON v.subject = d.id AND v.state = 'approved'`

/** Records the texts of a domain as a new version, if they differ. Those of the host need none. */
export async function recordDomainVersion(
  client: PoolClient,
  domain: DomainTexts & { readonly id: string; readonly host: string; readonly provider: string },
  rules: ReviewRules,
): Promise<void> {
  const { id, host, provider, name, summary } = domain
  const texts = defaultTexts(host)
  const isDefault = name === texts.name && summary === texts.summary
  const held = isDefault
    ? []
    : [
        ...holdReasons({ slug: undefined, name, sentences: [summary] }, rules.platformNames),
        ...(await imitatedService(client, provider, name)),
      ]
  await recordVersion(client, id, { name, summary }, { review: rules.approval && !isDefault, held })
}

/** Withdraws the texts that await approval: the owner's next ones start from what callers see. */
export async function withdrawDomainVersion(client: PoolClient, id: string): Promise<void> {
  await waitingOf(client, id)
  await endWaiting(client, id, 'withdrawn')
  await client.query(
    `UPDATE hub.domain d SET (name, summary) = (${APPROVED_TEXTS}) WHERE id = $1`,
    [id],
  )
}

/** @throws Fault `service_state`, `service_changed`, `validation_failed` without a version */
export async function approveDomain(
  client: PoolClient,
  id: string,
  reviewed: number | undefined,
): Promise<void> {
  const { review, version } = await waitingOf(client, id)
  assertReviewed(review, reviewed)
  await approveVersion(client, id, version)
}

/** @throws Fault as `approveDomain` */
export async function refuseDomain(
  client: PoolClient,
  id: string,
  reviewed: number | undefined,
  reason: string,
): Promise<void> {
  const { review, version } = await waitingOf(client, id)
  assertReviewed(review, reviewed)
  await refuseVersion(client, id, version, reason)
}

/** Locks the domain. @throws Fault `service_state` if no version of it is waiting */
async function waitingOf(
  client: PoolClient,
  id: string,
): Promise<{ readonly review: Review; readonly version: number }> {
  await client.query('SELECT FROM hub.domain WHERE id = $1 FOR UPDATE', [id])
  const review = await readReview(client, id)
  if (review.waiting) return { review, version: review.waiting.version }
  throw new Fault('service_state', 'No version of the texts is waiting for approval.')
}
