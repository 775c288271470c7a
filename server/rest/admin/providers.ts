import { z } from 'zod'
import { withAudit } from '../../../core/audit/record.ts'
import { commissionHistory } from '../../../core/catalog/services/admin-services.ts'
import { submitOwner } from '../../../core/finance/provider-owner.ts'
import { assertNotOwn, type FinanceDeps } from '../../../core/finance/staff-acts.ts'
import { earningsPrefix } from '../../../core/ledger/postings.ts'
import { type CommissionRule, setCommission } from '../../../core/usage/commission.ts'
import { auditReason } from '../fields.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'
import { providerNameAdminRoutes } from './provider-names.ts'

const RuleView = z.object({
  provider: z.string(),
  service: z.string().nullable().meta({ description: 'null: services without their own rule.' }),
  bps: z.int().nullable().meta({ description: 'Basis points. null: this rule was removed.' }),
  effective_from: z.iso.datetime(),
  author: z.string(),
  reason: z.string(),
})
export type CommissionRuleJson = z.infer<typeof RuleView>

const Assignment = z.object({
  id: z.string(),
  before: z.string().nullable().meta({ description: 'Previous owner. null: none.' }),
  after: z.string(),
  state: z.enum(['booked', 'proposed', 'declined']).meta({
    description: 'proposed: awaits a second administrator, because of what the provider is owed.',
  }),
})

export type ProviderAdminDeps = Pick<FinanceDeps, 'pool' | 'clock' | 'soloAdjustmentMax'>

export const providerAdminRoutes = (deps: ProviderAdminDeps): readonly AnyRoute[] => [
  ...commissionRoutes(deps),
  ownerRoute(deps),
  ...providerNameAdminRoutes(deps.pool),
]

const commissionRoutes = ({ pool }: Pick<FinanceDeps, 'pool'>): readonly AnyRoute[] => [
  route('GET /v1/admin/providers/{id}/commission', {
    summary: 'Lists the commission rules of a provider, newest first.',
    auth: 'finance',
    response: { status: 200, schema: z.object({ data: z.array(RuleView) }) },
    handle: async ({ params: { id } }) => ({
      body: { data: (await commissionHistory(pool, id)).map(showRule) },
    }),
  }),
  route('POST /v1/admin/providers/{id}/commission', {
    summary: 'Sets the commission of a provider or one of its services, for future calls.',
    auth: 'admin',
    body: z.strictObject({
      service: z.string().max(40).nullable().default(null),
      bps: z.int().min(0).max(10_000).nullable(),
      effective_from: z.iso.datetime().optional().meta({ description: 'Default: now.' }),
      reason: auditReason,
    }),
    response: { status: 201, schema: RuleView },
    faults: ['not_found', 'own_account'],
    handle: async (request) => {
      const { id: provider } = request.params
      const { service, bps, effective_from: from, reason } = request.body
      const staff = staffOf(request)
      const effectiveFrom = from === undefined ? undefined : new Date(from)
      const order = { provider, service, bps, effectiveFrom, author: staff.name, reason }
      const rule = await withAudit(pool, staff, reason, async (client, note) => {
        await assertNotOwn(client, staff.principal, { accounts: [earningsPrefix(provider)] })
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
      return { status: 201, body: showRule(rule) }
    },
  }),
]

const ownerRoute = (deps: ProviderAdminDeps): AnyRoute =>
  route('POST /v1/admin/providers/{id}/owner', {
    summary: 'Assigns the owner of a plugin provider by wallet or email address.',
    auth: 'admin',
    body: z.strictObject({
      name: z.string().trim().min(3).max(254).meta({
        description: 'Registered wallet, or email address of an account.',
      }),
      reason: auditReason,
    }),
    example: { name: '0x52908400098527886E0F7030069857D2E4169EE7', reason: 'contract of 3 May' },
    response: { status: 200, or: 202, schema: Assignment },
    faults: ['not_found', 'owner_not_possible', 'not_booked', 'own_account'],
    handle: async (request) => {
      const { id } = request.params
      const { name, reason } = request.body
      const made = await submitOwner(deps, staffOf(request), id, name, reason)
      return { status: made.state === 'proposed' ? 202 : 200, body: { id, ...made } }
    },
  })

const showRule = ({ effectiveFrom, ...rule }: CommissionRule): CommissionRuleJson => ({
  ...rule,
  effective_from: effectiveFrom.toISOString(),
})
