import type { Pool } from 'pg'
import { z } from 'zod'
import {
  IMPACT_DAYS,
  readSuspensionImpact,
  type SuspensionImpact,
} from '../../../core/catalog/services/suspension-impact.ts'
import { json } from '../../../core/money.ts'
import { type AnyRoute, route } from '../route.ts'

const Impact = z.object({
  services: z.int().meta({ description: 'Services on sale that would stop.' }),
  calls: z.int(),
  callers: z.int(),
  charged_microdollars: z.int(),
})
const Impacts = z.object({
  days: z.int().meta({ description: 'Number of days that calls are counted for.' }),
  service: Impact,
  provider: Impact.meta({ description: 'All services of its provider.' }),
})
export type ImpactsJson = z.infer<typeof Impacts>

/** Preview of what a suspension affects. */
export const impactRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route('GET /v1/admin/services/{id}/impact', {
    summary: 'Returns what a suspension of a service, or of its provider, would stop.',
    auth: 'admin',
    response: { status: 200, schema: Impacts },
    handle: async ({ params: { id } }) => {
      const { service, provider } = await readSuspensionImpact(pool, id)
      const impacts = { service: showImpact(service), provider: showImpact(provider) }
      return { body: { days: IMPACT_DAYS, ...impacts } }
    },
  }),
]

const showImpact = ({ services, calls, callers, charged }: SuspensionImpact) => ({
  services,
  calls: json(calls),
  callers: json(callers),
  charged_microdollars: json(charged),
})
