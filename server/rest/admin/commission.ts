import type { Pool } from 'pg'
import { z } from 'zod'
import { withAudit } from '../../../core/audit/record.ts'
import { commissionHistory } from '../../../core/catalog/services/admin-services.ts'
import { type CommissionRule, setCommission } from '../../../core/usage/commission.ts'
import { auditReason } from '../reason.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

const Rule = z.object({
  provider: z.string(),
  service: z.string().nullable().meta({ description: 'null: all that have no rule of their own.' }),
  bps: z.int().nullable().meta({ description: 'Basis points; null: no rule of its own any more.' }),
  effective_from: z.iso.datetime(),
  author: z.string(),
  reason: z.string(),
})
export type CommissionRuleJson = z.infer<typeof Rule>

/** What the platform keeps of sales: agreed on with a provider, from an instant on. */
export const commissionAdminRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/admin/providers/{id}/commission',
    summary: 'All that was agreed on with a provider, the newest first.',
    auth: 'finance',
    response: { status: 200, schema: z.object({ data: z.array(Rule) }) },
    handle: async ({ params: { id = '' } }) => ({
      body: { data: (await commissionHistory(pool, id)).map(show) },
    }),
  }),
  route({
    method: 'POST',
    path: '/v1/admin/providers/{id}/commission',
    summary: 'Sets the commission of a provider, or of one of its services; calls from then on.',
    auth: 'admin',
    body: z.strictObject({
      service: z.string().max(40).nullable().default(null),
      bps: z.int().min(0).max(10_000).nullable(),
      effective_from: z.iso.datetime().optional().meta({ description: 'Left out: from now on.' }),
      reason: auditReason,
    }),
    response: { status: 201, schema: Rule },
    faults: ['not_found'],
    handle: async (request) => {
      const { id: provider = '' } = request.params
      const { service, bps, effective_from: from, reason: why } = request.body
      const by = staffOf(request)
      const effectiveFrom = from === undefined ? undefined : new Date(from)
      const order = { provider, service, bps, effectiveFrom, author: by.name, reason: why }
      const rule = await withAudit(pool, by, why, async (client, note) => {
        const before = await client.query<{ bps: number | null }>(
          'SELECT hub.commission_of($1, $2) AS bps',
          [provider, service ?? ''],
        )
        const made = await setCommission(client, order)
        const after = { bps: made.bps, effective_from: made.effectiveFrom }
        const subject = service ?? provider
        note({ act: 'commission.set', subject, before: before.rows[0], after })
        return made
      })
      return { status: 201, body: show(rule) }
    },
  }),
]

const show = ({ effectiveFrom, ...rule }: CommissionRule): CommissionRuleJson => ({
  ...rule,
  effective_from: effectiveFrom.toISOString(),
})
