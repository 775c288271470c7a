import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import { ensureProvider, GENERATED_ID } from '../../providers/providers.ts'
import { holdReasons, looksOf } from './impersonation.ts'
import {
  approveVersion,
  assertReviewed,
  type Review,
  type ReviewRules,
  readReview,
  recordVersion,
  refuseVersion,
} from './versions.ts'

/** Display name of a provider, and its versions. */
export interface ProviderName {
  /** Undefined before the provider's first sale or name. */
  readonly provider: string | undefined
  readonly name: string | undefined
  readonly review: Review
}

const PREFIX = 'provider:'
const subjectOf = (provider: string): string => `${PREFIX}${provider}`

/** SQL of the approved display name of a provider; `provider` is an expression of its id. */
export const approvedName = (provider: string): string => `(SELECT v.content ->> 'name'
  FROM hub.content_version v WHERE v.subject = '${PREFIX}' || ${provider} AND v.state = 'approved')`

/** Name of a provider for people: the approved one, or one made of its id. */
export function providerLabel(provider: string, name: string | null | undefined): string {
  if (name) return name
  if (provider === 'agenthub') return 'AgentHub'
  return GENERATED_ID.test(provider) ? `Provider ${provider.slice(2, 8)}` : provider
}

export async function readProviderName(pool: Pool, owner: KeyManager): Promise<ProviderName> {
  const provider = await findProvider(pool, owner)
  const review = await readReview(pool, subjectOf(provider ?? ''))
  return { provider, name: nameIn(review.approved), review }
}

/** Finds the provider of the first of these principals that has one. */
async function findProvider(
  client: Pick<PoolClient, 'query'>,
  owner: KeyManager,
): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM hub.provider WHERE owner = ANY ($1) ORDER BY array_position($1, owner) LIMIT 1',
    [owner],
  )
  return rows[0]?.id
}

const nameIn = (version: Review['approved']): string | undefined =>
  version && String(version.content['name'])

/**
 * Chooses the display name of a provider. Administrators approve it where they approve services.
 * @throws Fault `validation_failed` for a name that imitates the platform or somebody else
 */
export async function setProviderName(
  pool: Pool,
  owner: KeyManager,
  name: string,
  rules: ReviewRules,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const provider =
      (await findProvider(client, owner)) ?? (await ensureProvider(client, owner[0]!))
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('hub.provider-names'))`)
    const refusals = [
      ...holdReasons({ slug: undefined, name, sentences: [] }, rules.platformNames),
      ...(await takenNames(client, provider, name)),
    ]
    if (refusals.length > 0) {
      const issues = refusals.map((message) => ({ path: '/name', message }))
      throw new Fault('validation_failed', refusals.join(' '), { extras: { issues } })
    }
    const order = { review: rules.approval, held: [] }
    await recordVersion(client, subjectOf(provider), { name }, order)
  })
}

/** Returns a reason if another provider, or its service, has a name that looks the same. */
async function takenNames(
  client: Pick<PoolClient, 'query'>,
  provider: string,
  name: string,
): Promise<readonly string[]> {
  const { rowCount } = await client.query(
    `SELECT FROM hub.content_version v WHERE v.subject LIKE '${PREFIX}%' AND v.subject <> $2
         AND v.state IN ('waiting', 'approved') AND ${lookOf("v.content ->> 'name'")} = ANY ($1)
     UNION ALL SELECT FROM hub.provider p WHERE p.id <> $3 AND ${lookOf('p.id')} = ANY ($1)
     UNION ALL SELECT FROM hub.service s WHERE s.state = 'active' AND s.provider <> $3
         AND ${lookOf('s.name')} = ANY ($1) LIMIT 1`,
    [looksOf(name), subjectOf(provider), provider],
  )
  return rowCount ? ['The name looks the same as that of another provider or service.'] : []
}

const lookOf = (text: string): string => `translate(hub.search_squashed(${text}), '01i', 'oll')`

/** Display name that awaits approval. */
export interface WaitingName {
  readonly provider: string
  readonly name: string
  readonly version: number
  readonly before: string | null
  readonly since: Date
}

const WAITING_MAX = 200

/** Lists display names that await approval, oldest first. */
export async function listWaitingNames(pool: Pool): Promise<readonly WaitingName[]> {
  const { rows } = await pool.query<WaitingName>(
    `SELECT p.id AS provider, w.content ->> 'name' AS name, w.version, w.created_at AS since,
       ${approvedName('p.id')} AS before
     FROM hub.content_version w JOIN hub.provider p ON w.subject = '${PREFIX}' || p.id
     WHERE w.state = 'waiting' ORDER BY w.created_at, w.subject LIMIT ${WAITING_MAX}`,
  )
  return rows
}

/**
 * Approves or refuses the waiting name that an administrator has reviewed.
 * @param refusal reason for the provider; undefined to approve
 * @throws Fault `not_found` without a waiting name, `service_changed` for another version
 */
export async function decideName(
  client: PoolClient,
  provider: string,
  version: number,
  refusal: string | undefined,
): Promise<{ readonly before: string | undefined; readonly name: string | undefined }> {
  await client.query('SELECT FROM hub.provider WHERE id = $1 FOR UPDATE', [provider])
  const subject = subjectOf(provider)
  const review = await readReview(client, subject)
  if (!review.waiting) throw new Fault('not_found', 'No name of this provider awaits approval.')
  assertReviewed(review, version)
  if (refusal === undefined) await approveVersion(client, subject, version)
  else await refuseVersion(client, subject, version, refusal)
  return { before: nameIn(review.approved), name: nameIn(review.waiting) }
}
