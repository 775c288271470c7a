import type { Pool } from 'pg'
import { getAddress } from 'viem'
import { z } from 'zod'
import { freeze, keyState, setRate, thaw } from '../../core/identity/key-state.ts'
import type { Log } from '../../core/log.ts'
import { type AnyRoute, callerOf, route } from './route.ts'

const RATE_MAX = 1_000_000

const KeyState = z.object({
  key_id: z.string(),
  wallet_address: z.string().nullable(),
  parent: z.string().nullable(),
  rate_per_minute: z.int().nullable().meta({ description: 'null: that of its tier.' }),
  frozen: z.object({ at: z.iso.datetime(), by: z.string(), reason: z.string() }).nullable(),
  revoked_at: z.iso.datetime().nullable(),
})

const Change = z
  .strictObject({
    rate_per_minute: z.int().min(1).max(RATE_MAX).nullable().meta({
      description: 'For a root, by arrangement; the keys below it share it. null: its tier again.',
    }),
    frozen: z
      .strictObject({ reason: z.string().min(1).max(200) })
      .nullable()
      .meta({ description: 'Stops the key with all that it made. null: thaws it.' }),
  })
  .partial()

/** What the operator sets for a key of somebody else's. */
export const keyAdminRoutes = (ports: {
  readonly pool: Pool
  readonly log: Log
}): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/admin/keys/{id}',
    summary: 'The rate of a key, and whether it works.',
    auth: 'admin',
    answer: { status: 200, schema: KeyState },
    faults: ['not_found'],
    handle: async ({ params: { id = '' } }) => ({ body: await show(ports.pool, id) }),
  }),
  route({
    method: 'PATCH',
    path: '/v1/admin/keys/{id}',
    summary: 'Gives a key a rate of its own, freezes or thaws it; everywhere within a second.',
    auth: 'admin',
    body: Change,
    answer: { status: 200, schema: KeyState },
    faults: ['not_found'],
    handle: async (request) => {
      const { pool, log } = ports
      const { id = '' } = request.params
      const { rate_per_minute: rate, frozen } = request.body
      await keyState(pool, id)
      if (rate !== undefined) await setRate(pool, id, rate)
      if (frozen) await freeze(pool, id, 'administrator', frozen.reason)
      if (frozen === null) await thaw(pool, id, 'administrator')
      log.info({ key: id, ...request.body, by: callerOf(request).keyId }, 'a key was changed')
      return { body: await show(pool, id) }
    },
  }),
]

async function show(pool: Pool, id: string) {
  const key = await keyState(pool, id)
  const { wallet_address: wallet, frozen_at: at, frozen_by: by, frozen_reason: reason } = key
  return {
    key_id: key.id,
    wallet_address: wallet === null ? null : getAddress(wallet),
    parent: key.parent,
    rate_per_minute: key.rate_per_minute,
    frozen: at === null ? null : { at: at.toISOString(), by, reason },
    revoked_at: key.revoked_at?.toISOString() ?? null,
  }
}
