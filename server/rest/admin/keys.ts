import type { Pool, PoolClient } from 'pg'
import { getAddress } from 'viem'
import { z } from 'zod'
import { audited, type Change as Changed } from '../../../core/audit/audit.ts'
import { freeze, keyState, setRate, thaw } from '../../../core/identity/key-state.ts'
import type { Log } from '../../../core/log.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

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
    reason: z.string().trim().min(1).max(500).meta({
      description: 'For the audit log. Left out where frozen has one.',
    }),
  })
  .partial()
  .refine(({ frozen, reason }) => Boolean(frozen) || reason !== undefined, {
    path: ['reason'],
    error: 'is needed: say why',
  })

export type KeyStateJson = z.infer<typeof KeyState>

export interface KeyAdminPorts {
  readonly pool: Pool
  readonly log: Log
}

/** What the operator sets for a key of somebody else's. */
export const keyAdminRoutes = (ports: KeyAdminPorts): readonly AnyRoute[] => [
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
      const { body } = request
      const by = staffOf(request)
      const reason = body.reason ?? body.frozen?.reason ?? ''
      await audited(pool, by, reason, (client, note) => change(client, id, body, note))
      log.info({ key: id, ...body, by: by.via }, 'a key was changed')
      return { body: await show(pool, id) }
    },
  }),
]

/** Each change that it makes is a line of the audit log; what was so before is none. */
async function change(
  client: PoolClient,
  id: string,
  { rate_per_minute: rate, frozen }: z.infer<typeof Change>,
  note: (changed: Changed) => void,
): Promise<void> {
  const before = await keyState(client, id)
  if (rate !== undefined && rate !== before.rate_per_minute) {
    await setRate(client, id, rate)
    const was = { rate_per_minute: before.rate_per_minute }
    note({ act: 'key.rate', subject: id, before: was, after: { rate_per_minute: rate } })
  }
  const was = { frozen: before.frozen_reason, by: before.frozen_by }
  if (frozen && (was.frozen !== frozen.reason || was.by !== 'administrator')) {
    await freeze(client, id, 'administrator', frozen.reason)
    note({ act: 'key.freeze', subject: id, before: was, after: { frozen: frozen.reason } })
  }
  if (frozen === null && was.frozen !== null) {
    await thaw(client, id, 'administrator')
    note({ act: 'key.thaw', subject: id, before: was, after: { frozen: null } })
  }
}

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
