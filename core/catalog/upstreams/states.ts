import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { Manager } from '../../identity/children.ts'
import { assertComplete, missingOf } from './missing.ts'
import { findUpstream, lockUpstream, type UpstreamInfo, type UpstreamState } from './store.ts'

/**
 * The life of a listing:
 *
 *     draft ─▶ (pending ─▶) active ⇄ paused ─▶ retired
 *                              └▶ suspended ─▶ active
 *
 * An owner activates, pauses and retires; an administrator approves and suspends. The database
 * refuses every other step.
 */

/**
 * Sells it, or asks an administrator to let it be sold.
 * @param approval whether one has to approve of it
 * @throws Fault `service_not_found`, `service_incomplete`, `service_state`
 */
export const activate = (
  pool: Pool,
  manager: Manager,
  slug: string,
  approval: boolean,
): Promise<UpstreamInfo> =>
  inTransaction(pool, async (client) => {
    const { state, approvedAt } = await findUpstream(client, manager, slug, true)
    if (state === 'active' || state === 'pending') return findUpstream(client, manager, slug)
    assertIn(state, ['draft', 'paused'], 'activate')
    await assertComplete(client, slug)
    await step(client, slug, approval && approvedAt === null ? 'pending' : 'active')
    return findUpstream(client, manager, slug)
  })

/**
 * Stops its sale, until it is activated again.
 * @throws Fault `service_not_found`, `service_state`
 */
export const pause = (pool: Pool, manager: Manager, slug: string): Promise<UpstreamInfo> =>
  inTransaction(pool, async (client) => {
    const { state } = await findUpstream(client, manager, slug, true)
    assertIn(state, ['active', 'paused', 'pending'], 'pause')
    if (state !== 'paused') await step(client, slug, state === 'pending' ? 'draft' : 'paused')
    return findUpstream(client, manager, slug)
  })

/**
 * Announces its end: callers are told by headers, and after the day it is sold no more. What was
 * never sold ends at once, and its slug is free again.
 * @param sunset `2027-06-30`, the last day, UTC
 * @throws Fault `service_not_found`, `service_state`
 */
export const retire = (
  pool: Pool,
  manager: Manager,
  slug: string,
  sunset: string,
): Promise<UpstreamInfo> =>
  inTransaction(pool, async (client) => {
    const { state, activatedAt } = await findUpstream(client, manager, slug, true)
    assertIn(state, ['draft', 'pending', 'active', 'paused'], 'retire')
    if (activatedAt === null) {
      await step(client, slug, 'retired')
      const ended = await findUpstream(client, manager, slug)
      await client.query('SELECT hub.discard_upstream($1)', [slug])
      return ended
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
 * An administrator lets it be sold: what waits for it, and what was suspended. In a transaction of
 * the caller's, where its act is written down.
 * @param seen the revision that the administrator has seen
 * @throws Fault `service_not_found`, `service_state`, `service_changed`, `service_incomplete`
 */
export async function approve(
  client: PoolClient,
  slug: string,
  seen: number,
): Promise<UpstreamInfo> {
  const { state, activatedAt, revision, baseUrl } = await lockUpstream(client, slug)
  assertIn(state, ['pending', 'suspended'], 'approve')
  if (state === 'pending') await assertComplete(client, slug)
  if (revision !== seen) {
    throw new Fault('service_changed', `It was changed since revision ${seen}.`, {
      extras: { revision, base_url: baseUrl },
    })
  }
  await client.query('UPDATE hub.upstream SET approved_at = now() WHERE slug = $1', [slug])
  const isComplete = (await missingOf(client, slug)).length === 0
  await step(client, slug, state === 'pending' || (activatedAt && isComplete) ? 'active' : 'paused')
  return lockUpstream(client, slug)
}

/**
 * An administrator stops its sale: only an administrator can let it go on.
 * @throws Fault `service_not_found`, `service_state`
 */
export async function suspend(
  client: PoolClient,
  slug: string,
  reason: string,
): Promise<UpstreamInfo> {
  const { state } = await lockUpstream(client, slug)
  assertIn(state, ['pending', 'active', 'paused', 'suspended'], 'suspend')
  await step(client, slug, 'suspended', reason)
  return lockUpstream(client, slug)
}

/** Ends what was announced to end by now. @returns how many */
export async function retireDue(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `UPDATE hub.upstream SET state = 'retired', reason = NULL, updated_at = now()
     WHERE state <> 'retired' AND sunset_on < (now() AT TIME ZONE 'UTC')::date`,
  )
  return rowCount ?? 0
}

const step = (
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

function assertIn(state: UpstreamState, states: readonly UpstreamState[], act: string): void {
  if (states.includes(state)) return
  throw new Fault('service_state', `It is ${state}; ${act} is for ${states.join(', ')}.`, {
    extras: { state },
  })
}
