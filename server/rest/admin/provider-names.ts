import type { Pool } from 'pg'
import { z } from 'zod'
import { withAudit } from '../../../core/audit/record.ts'
import {
  decideName,
  listWaitingNames,
  type WaitingName,
} from '../../../core/catalog/review/provider-names.ts'
import { assertNotOwn } from '../../../core/finance/staff-acts.ts'
import { earningsPrefix } from '../../../core/ledger/postings.ts'
import { auditReason } from '../fields.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

const WaitingView = z.object({
  provider: z.string(),
  name: z.string(),
  before: z.string().nullable().meta({ description: 'Name that buyers see; null: none.' }),
  version: z.int(),
  since: z.iso.datetime(),
})
export type WaitingNameJson = z.infer<typeof WaitingView>

/** Review of the display names of providers. */
export const providerNameAdminRoutes = (pool: Pool): readonly AnyRoute[] => [
  route('GET /v1/admin/provider-names', {
    summary: 'Lists display names that await approval, oldest first.',
    auth: 'finance',
    response: { status: 200, schema: z.object({ data: z.array(WaitingView) }) },
    handle: async () => ({ body: { data: (await listWaitingNames(pool)).map(showWaiting) } }),
  }),
  decisionRoute(pool, 'approve', 'Approves the waiting display name of a provider.'),
  decisionRoute(pool, 'refuse', 'Refuses the waiting display name of a provider.'),
]

const decisionRoute = (pool: Pool, decision: 'approve' | 'refuse', summary: string): AnyRoute =>
  route(`POST /v1/admin/providers/{id}/${decision}-name`, {
    summary,
    auth: 'admin',
    body: z.strictObject({
      version: z.int().min(1).meta({ description: 'Version that you have reviewed.' }),
      reason: auditReason,
    }),
    response: { status: 200, schema: z.object({ id: z.string(), name: z.string() }) },
    faults: ['not_found', 'service_changed', 'own_account'],
    handle: async (request) => {
      const { id } = request.params
      const { version, reason } = request.body
      const staff = staffOf(request)
      const refusal = decision === 'refuse' ? reason : undefined
      const name = await withAudit(pool, staff, reason, async (client, note) => {
        if (decision === 'approve')
          await assertNotOwn(client, staff.principal, { accounts: [earningsPrefix(id)] })
        const { before, name = '' } = await decideName(client, id, version, refusal)
        const after = { name: refusal === undefined ? name : before, version }
        note({ act: `provider.${decision}`, subject: id, before: { name: before }, after })
        return name
      })
      return { body: { id, name } }
    },
  })

const showWaiting = ({ since, ...waiting }: WaitingName): WaitingNameJson => ({
  ...waiting,
  since: since.toISOString(),
})
