import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import {
  approveVersion,
  assertReviewed,
  endWaiting,
  type ReviewRules,
  readReview,
  refuseVersion,
} from '../review/versions.ts'
import { assertComplete, missingParts } from './completeness.ts'
import { waiveTests } from './endpoint-tests.ts'
import { findUpstream, lockUpstream, type UpstreamInfo, type UpstreamState } from './store.ts'
import { deleteUnusedSecrets, recordUpstreamVersion, withdrawUpstreamVersion } from './versions.ts'

/**
 * Lifecycle of an imported service:
 *
 *     draft ─▶ (pending ─▶) active ⇄ paused ─▶ retired
 *                              └▶ suspended ─▶ active
 *
 * The owner activates, pauses and retires; an administrator approves and suspends. The database
 * rejects every other transition.
 */

export interface Activation extends ReviewRules {
  /** True to sell endpoints without a passing test call, which buyers see. */
  readonly waivesTests: boolean
}

/**
 * Puts a service on sale with its approved version; without one, submits it for approval.
 * @throws Fault `service_not_found`, `service_incomplete`, `service_state`
 */
export const activate = (
  pool: Pool,
  manager: KeyManager,
  slug: string,
  rules: Activation,
): Promise<UpstreamInfo> =>
  inTransaction(pool, async (client) => {
    const info = await findUpstream(client, manager, slug, true)
    const { state } = info
    if (rules.waivesTests) await waiveTests(client, slug)
    if (state === 'active' || state === 'pending') {
      await recordUpstreamVersion(client, info, rules)
      return findUpstream(client, manager, slug)
    }
    assertState(state, ['draft', 'paused'], 'activate')
    await assertComplete(client, slug)
    await recordUpstreamVersion(client, { ...info, state: 'pending' }, rules)
    const { approved } = await readReview(client, slug)
    await changeState(client, slug, approved ? 'active' : 'pending')
    return findUpstream(client, manager, slug)
  })

/** Stops the sale until activation. @throws Fault `service_not_found`, `service_state` */
export const pause = (pool: Pool, manager: KeyManager, slug: string): Promise<UpstreamInfo> =>
  inTransaction(pool, async (client) => {
    const { state } = await findUpstream(client, manager, slug, true)
    assertState(state, ['active', 'paused', 'pending'], 'pause')
    if (state === 'pending') await endWaiting(client, slug, 'withdrawn')
    if (state !== 'paused')
      await changeState(client, slug, state === 'pending' ? 'draft' : 'paused')
    return findUpstream(client, manager, slug)
  })

/**
 * Withdraws the version that awaits approval. A service that was never approved is a draft again.
 * @throws Fault `service_not_found`; `service_state` if no version is waiting
 */
export const withdraw = (pool: Pool, manager: KeyManager, slug: string): Promise<UpstreamInfo> =>
  inTransaction(pool, async (client) => {
    const { state } = await findUpstream(client, manager, slug, true)
    const { waiting } = await readReview(client, slug)
    if (!waiting) throw noneWaiting(state)
    await withdrawUpstreamVersion(client, slug)
    if (state === 'pending') await changeState(client, slug, 'draft')
    return findUpstream(client, manager, slug)
  })

const noneWaiting = (state: UpstreamState): Fault =>
  new Fault('service_state', 'No version of the service is waiting for approval.', {
    extras: { state },
  })

/**
 * Schedules the end of a service: responses announce it by headers, and it is not sold after the
 * last day. A service that was never sold ends at once and frees its slug.
 * @param sunset last day in UTC: `2027-06-30`
 * @throws Fault `service_not_found`, `service_state`
 */
export const retire = (
  pool: Pool,
  manager: KeyManager,
  slug: string,
  sunset: string,
): Promise<UpstreamInfo> =>
  inTransaction(pool, async (client) => {
    const { state, activatedAt } = await findUpstream(client, manager, slug, true)
    assertState(state, ['draft', 'pending', 'active', 'paused'], 'retire')
    if (activatedAt === null) {
      await changeState(client, slug, 'retired')
      const retired = await findUpstream(client, manager, slug)
      await client.query('SELECT hub.discard_upstream($1)', [slug])
      return retired
    }
    await client.query(
      `UPDATE hub.upstream SET sunset_on = $2, updated_at = now(), deprecated_on =
         least(coalesce(deprecated_on, (now() AT TIME ZONE 'UTC')::date), $2::date)
       WHERE slug = $1`,
      [slug, sunset],
    )
    return findUpstream(client, manager, slug)
  })

/**
 * Approves the version that an administrator has reviewed: the waiting one, or that of a suspended
 * service. Runs in the caller's transaction, which also records it in the audit log.
 * @throws Fault `service_not_found`, `service_state`, `service_changed`, `service_incomplete`,
 *   `validation_failed` without a version
 */
export async function approve(
  client: PoolClient,
  slug: string,
  reviewed: number | undefined,
): Promise<UpstreamInfo> {
  const { state, activatedAt } = await lockUpstream(client, slug)
  const review = await readReview(client, slug)
  if (!review.waiting && state !== 'suspended') throw noneWaiting(state)
  assertReviewed(review, reviewed)
  if (state !== 'suspended') await assertComplete(client, slug)
  if (review.waiting) await approveVersion(client, slug, review.waiting.version)
  await deleteUnusedSecrets(client, slug)
  if (state === 'pending') await changeState(client, slug, 'active')
  if (state === 'suspended') {
    const isComplete = (await missingParts(client, slug)).length === 0
    await changeState(client, slug, activatedAt && isComplete ? 'active' : 'paused')
  }
  return lockUpstream(client, slug)
}

/**
 * Refuses the waiting version; its owner sees the reason. A service that was never approved is a
 * draft again. @throws Fault as `approve`
 */
export async function refuse(
  client: PoolClient,
  slug: string,
  reviewed: number | undefined,
  reason: string,
): Promise<UpstreamInfo> {
  const { state } = await lockUpstream(client, slug)
  const review = await readReview(client, slug)
  if (!review.waiting) throw noneWaiting(state)
  assertReviewed(review, reviewed)
  await refuseVersion(client, slug, review.waiting.version, reason)
  if (state === 'pending') await changeState(client, slug, 'draft')
  await deleteUnusedSecrets(client, slug)
  return lockUpstream(client, slug)
}

/** Suspends the sale; only administrators resume it. @throws Fault as `pause` */
export async function suspend(
  client: PoolClient,
  slug: string,
  reason: string,
): Promise<UpstreamInfo> {
  const { state } = await lockUpstream(client, slug)
  assertState(state, ['pending', 'active', 'paused', 'suspended'], 'suspend')
  await changeState(client, slug, 'suspended', reason)
  return lockUpstream(client, slug)
}

/** Retires services whose last day has passed. @returns their number */
export async function retireDue(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `UPDATE hub.upstream SET state = 'retired', reason = NULL, updated_at = now()
     WHERE state <> 'retired' AND sunset_on < (now() AT TIME ZONE 'UTC')::date`,
  )
  return rowCount ?? 0
}

const changeState = (
  client: PoolClient,
  slug: string,
  state: UpstreamState,
  reason: string | null = null,
): Promise<unknown> =>
  client.query(
    `UPDATE hub.upstream SET state = $2, reason = $3, updated_at = now(),
       activated_at = CASE WHEN $2 = 'active' THEN coalesce(activated_at, now())
         ELSE activated_at END
     WHERE slug = $1`,
    [slug, state, reason],
  )

function assertState(state: UpstreamState, allowed: readonly UpstreamState[], act: string): void {
  if (allowed.includes(state)) return
  const detail = `The service is ${state}; ${act} requires ${allowed.join(', ')}.`
  throw new Fault('service_state', detail, { extras: { state } })
}
