import type { Pool } from 'pg'
import { z } from 'zod'
import { withAudit } from '../../../core/audit/record.ts'
import { findPrincipalByName } from '../../../core/identity/roles.ts'
import { assignOwner } from '../../../core/providers/providers.ts'
import { auditReason } from '../reason.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

const Assignment = z.object({
  id: z.string(),
  before: z.string().nullable().meta({ description: 'Whose it was; null: nobody’s.' }),
  after: z.string(),
})

/** Who earns with a provider that a plugin declares. */
export const providerAdminRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/admin/providers/{id}/owner',
    summary: 'Says who earns with a provider of a plugin: a wallet, or an address of mail.',
    auth: 'admin',
    body: z.strictObject({
      name: z.string().trim().min(3).max(254).meta({
        description: 'Who has registered with this wallet, or signed in with this address.',
      }),
      reason: auditReason,
    }),
    example: { name: '0x52908400098527886E0F7030069857D2E4169EE7', reason: 'contract of 3 May' },
    response: { status: 200, schema: Assignment },
    faults: ['not_found', 'owner_not_possible'],
    handle: async (request) => {
      const { id = '' } = request.params
      const { name, reason: why } = request.body
      const after = name.toLowerCase()
      const before = await withAudit(pool, staffOf(request), why, async (client, note) => {
        const was = await assignOwner(client, id, await findPrincipalByName(client, name))
        const change = { before: { owner: was }, after: { owner: after } }
        if (was !== after) note({ act: 'provider.assign', subject: id, ...change })
        return was
      })
      return { body: { id, before, after } }
    },
  }),
]
