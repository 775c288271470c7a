import type { Pool } from 'pg'
import { z } from 'zod'
import {
  type CommissionRule,
  listCommissionRates,
  listCommissionRules,
} from '../../../core/usage/commission.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

const basisPoints = z.int().min(0).max(10_000)

const Rate = z.object({
  provider_id: z.string(),
  service: z.string(),
  commission_bps: basisPoints.meta({ description: 'Basis points of the price: 1000 = 10%.' }),
})

const Rule = z.object({
  provider_id: z.string(),
  service: z.string().nullable().meta({ description: 'null: services without their own rule.' }),
  commission_bps: basisPoints.nullable().meta({ description: 'null: the previous rule ended.' }),
  effective_from: z.iso.datetime(),
  reason: z.string(),
})

const showRule = ({ provider, service, bps, effectiveFrom, reason }: CommissionRule) => ({
  provider_id: provider,
  service,
  commission_bps: bps,
  effective_from: effectiveFrom.toISOString(),
  reason,
})

/** Commission rates and their history. Each call is charged the rate at the time of the call. */
export const commissionRoutes = (pool: Pool, defaultBps: number): readonly AnyRoute[] => [
  route('GET /v1/provider/commission', {
    summary: 'Returns the commission of each of your services and all commission rules.',
    auth: 'provider',
    response: {
      status: 200,
      schema: z.object({
        default_bps: basisPoints.meta({ description: 'Applies if there is no rule.' }),
        rates: z.array(Rate),
        rules: z.array(Rule).meta({ description: 'Newest first, including future rules.' }),
      }),
    },
    faults: ['root_key_required'],
    handle: async (request) => {
      const owner = ownerOf(request)
      const [rates, rules] = await Promise.all([
        listCommissionRates(pool, owner, defaultBps),
        listCommissionRules(pool, owner),
      ])
      const shown = rates.map(({ provider, service, bps }) => ({
        provider_id: provider,
        service,
        commission_bps: bps,
      }))
      return { body: { default_bps: defaultBps, rates: shown, rules: rules.map(showRule) } }
    },
  }),
]
