import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import { assertComplete, missingParts } from './completeness.ts'
import { findUpstream, lockUpstream, type UpstreamInfo, type UpstreamState } from './store.ts'

/**
 * Lifecycle of an imported service:
 *
 *     draft ─▶ (pending ─▶) active ⇄ paused ─▶ retired
 *                              └▶ suspended ─▶ active
 *
 * The owner activates, pauses and retires; an administrator approves and suspends. The database
 * rejects every other transition.
 */

/**
 * Puts a service on sale, or submits it for approval.
 * @param approval true if an administrator must approve it
 * @throws Fault `service_not_found`, `service_incomplete`, `service_state`
 */
export const activate = (
  pool: Pool,
  manager: KeyManager,
  slug: string,
  approval: boolean,
): Promise<UpstreamInfo> =>
  inTransaction(pool, async (client) => {
    const { state, approvedAt } = await findUpstream(client, manager, slug, true)
    if (state === 'active' || state === 'pending') return findUpstream(client, manager, slug)
    assertState(state, ['draft', 'paused'], 'activate')
    await assertComplete(client, slug)
    await changeState(client, slug, approval && approvedAt === null ? 'pending' : 'active')
    return findUpstream(client, manager, slug)
  })

/** Stops the sale until activation. @throws Fault `service_not_found`, `service_state` */
export const pause = (pool: Pool, manager: KeyManager, slug: string): Promise<UpstreamInfo> =>
  inTransaction(pool, async (client) => {
    const { state } = await findUpstream(client, manager, slug, true)
    assertState(state, ['active', 'paused', 'pending'], 'pause')
    if (state !== 'paused')
      await changeState(client, slug, state === 'pending' ? 'draft' : 'paused')
    return findUpstream(client, manager, slug)
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
 * Approves a pending or suspended service. Runs in the caller's transaction, which also records it
 * in the audit log.
 * @param reviewedRevision revision that the administrator has reviewed
 * @throws Fault `service_not_found`, `service_state`, `service_changed`, `service_incomplete`
 */
export async function approve(
  client: PoolClient,
  slug: string,
  reviewedRevision: number,
): Promise<UpstreamInfo> {
  const { state, activatedAt, revision, baseUrl } = await lockUpstream(client, slug)
  assertState(state, ['pending', 'suspended'], 'approve')
  if (state === 'pending') await assertComplete(client, slug)
  if (revision !== reviewedRevision) {
    const detail = `The service has changed since revision ${reviewedRevision}.`
    throw new Fault('service_changed', detail, {
      extras: { revision, base_url: baseUrl },
    })
  }
  await client.query('UPDATE hub.upstream SET approved_at = now() WHERE slug = $1', [slug])
  const isComplete = (await missingParts(client, slug)).length === 0
  await changeState(
    client,
    slug,
    state === 'pending' || (activatedAt && isComplete) ? 'active' : 'paused',
  )
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
