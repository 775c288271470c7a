import type { Pool, PoolClient } from 'pg'
import { getAddress } from 'viem'
import { z } from 'zod'
import { type AuditedChange, withAudit } from '../../../core/audit/record.ts'
import { assertNotOwn } from '../../../core/finance/staff-acts.ts'
import { findKeyState, freezeKey, setKeyRate, thawKey } from '../../../core/identity/key-state.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import type { Log } from '../../../core/log.ts'
import { ratePerMinute } from '../account/rate-requests.ts'
import { plainText } from '../fields.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

const KeyState = z.object({
  key_id: z.string(),
  wallet_address: z.string().nullable(),
  parent: z.string().nullable(),
  rate_per_minute: z.int().nullable().meta({ description: 'null: the rate of its tier.' }),
  frozen: z.object({ at: z.iso.datetime(), by: z.string(), reason: z.string() }).nullable(),
  revoked_at: z.iso.datetime().nullable(),
})

const KeyChange = z
  .strictObject({
    rate_per_minute: ratePerMinute.nullable().meta({
      description: 'Rate of a main key, shared by its sub-keys. null: the rate of its tier.',
    }),
    frozen: z
      .strictObject({ reason: plainText(200) })
      .nullable()
      .meta({ description: 'Freezes the key and its sub-keys. null: unfreezes it.' }),
    reason: plainText(500).meta({
      description: 'Recorded in the audit log. Default: the reason in frozen.',
    }),
  })
  .partial()
  .refine(({ frozen, reason }) => Boolean(frozen) || reason !== undefined, {
    path: ['reason'],
    error: 'is required',
  })

export type KeyStateJson = z.infer<typeof KeyState>

export interface KeyAdminDeps {
  readonly pool: Pool
  readonly log: Log
}

export const keyAdminRoutes = (deps: KeyAdminDeps): readonly AnyRoute[] => [
  route('GET /v1/admin/keys/{id}', {
    summary: 'Returns the rate limit and state of a key.',
    auth: 'admin',
    response: { status: 200, schema: KeyState },
    faults: ['not_found'],
    handle: async ({ params: { id } }) => ({ body: await showKeyState(deps.pool, id) }),
  }),
  route('PATCH /v1/admin/keys/{id}', {
    summary: 'Sets the rate limit of a key, freezes or unfreezes it; effective within a second.',
    auth: 'admin',
    body: KeyChange,
    response: { status: 200, schema: KeyState },
    faults: ['not_found', 'own_account'],
    handle: async (request) => {
      const { pool, log } = deps
      const { id } = request.params
      const { body } = request
      const staff = staffOf(request)
      const reason = body.reason ?? body.frozen?.reason ?? ''
      await withAudit(pool, staff, reason, async (client, note) => {
        await assertNotOwn(client, staff.principal, { accounts: [creditsOf(id)] })
        await applyChange(client, id, body, note)
      })
      log.info({ key: id, ...body, by: staff.via }, 'changed a key')
      return { body: await showKeyState(pool, id) }
    },
  }),
]

/** Applies and audits each actual change; unchanged values leave no audit line. */
async function applyChange(
  client: PoolClient,
  id: string,
  { rate_per_minute: rate, frozen }: z.infer<typeof KeyChange>,
  note: (change: AuditedChange) => void,
): Promise<void> {
  const before = await findKeyState(client, id)
  if (rate !== undefined && rate !== before.rate_per_minute) {
    await setKeyRate(client, id, rate)
    const was = { rate_per_minute: before.rate_per_minute }
    note({ act: 'key.rate', subject: id, before: was, after: { rate_per_minute: rate } })
  }
  const was = { frozen: before.frozen_reason, by: before.frozen_by }
  if (frozen && (was.frozen !== frozen.reason || was.by !== 'administrator')) {
    await freezeKey(client, id, 'administrator', frozen.reason)
    note({ act: 'key.freeze', subject: id, before: was, after: { frozen: frozen.reason } })
  }
  if (frozen === null && was.frozen !== null) {
    await thawKey(client, id, 'administrator')
    note({ act: 'key.thaw', subject: id, before: was, after: { frozen: null } })
  }
}

async function showKeyState(pool: Pool, id: string) {
  const key = await findKeyState(pool, id)
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
