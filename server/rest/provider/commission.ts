import type { Pool } from 'pg'
import { z } from 'zod'
import {
  type CommissionRule,
  commissionRates,
  commissionRules,
} from '../../../core/usage/commission.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

const bps = z.int().min(0).max(10_000)

const Rate = z.object({
  provider_id: z.string(),
  service: z.string(),
  commission_bps: bps.meta({ description: 'Basis points of what callers pay: 1000 are 10 %.' }),
})

const Rule = z.object({
  provider_id: z.string(),
  service: z.string().nullable().meta({ description: 'null: all without a rule of their own.' }),
  commission_bps: bps.nullable().meta({ description: 'null: the rule before ended here.' }),
  effective_from: z.iso.datetime(),
  reason: z.string(),
})

const show = ({ provider, service, bps, effectiveFrom, reason }: CommissionRule) => ({
  provider_id: provider,
  service,
  commission_bps: bps,
  effective_from: effectiveFrom.toISOString(),
  reason,
})

/** What the platform keeps, and kept. A call is settled by the rate of its time. */
export const commissionRoutes = (pool: Pool, defaultBps: number): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/provider/commission',
    summary: 'The commission of each of your services, and the rules that it followed from.',
    auth: 'provider',
    answer: {
      status: 200,
      schema: z.object({
        default_bps: bps.meta({ description: 'Where no rule says otherwise.' }),
        rates: z.array(Rate),
        rules: z.array(Rule).meta({ description: 'The newest first; some may be of the future.' }),
      }),
    },
    faults: ['root_key_required'],
    handle: async (request) => {
      const owner = ownerOf(request)
      const [rates, rules] = await Promise.all([
        commissionRates(pool, owner, defaultBps),
        commissionRules(pool, owner),
      ])
      const shown = rates.map(({ provider, service, bps }) => ({
        provider_id: provider,
        service,
        commission_bps: bps,
      }))
      return { body: { default_bps: defaultBps, rates: shown, rules: rules.map(show) } }
    },
  }),
]
