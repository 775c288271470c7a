import { z } from 'zod'
import { listPrices } from '../../../../core/catalog/upstreams/prices.ts'
import { findUpstream } from '../../../../core/catalog/upstreams/store.ts'
import { json } from '../../../../core/money.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../../paging.ts'
import { type AnyRoute, ownerOf, route } from '../../route.ts'
import type { ServiceDeps } from './deps.ts'
import { MeteredField, showMeter } from './metered-field.ts'

const PriceView = z.object({
  method: z.string(),
  path: z.string(),
  price_microdollars: z.int(),
  metered: MeteredField.nullable(),
  set_at: z.iso.datetime(),
  effective_at: z.iso.datetime(),
  withdrawn_at: z.iso.datetime().nullable().meta({ description: 'Before it took effect.' }),
  current: z.boolean(),
})

export const priceRoutes = (deps: ServiceDeps): readonly AnyRoute[] => [
  route('GET /v1/provider/services/{slug}/prices', {
    summary: 'Lists all prices of a service and when they take effect, newest first.',
    auth: 'provider',
    query: listQuery({}),
    response: { status: 200, schema: pageSchema(PriceView) },
    faults: ['root_key_required', 'service_not_found', 'validation_failed'],
    handle: async (request) => {
      const { slug } = request.params
      const { limit, cursor } = request.query
      await findUpstream(deps.pool, ownerOf(request), slug)
      const before = readCursor(cursor, z.tuple([z.string().regex(/^\d{1,18}$/)]))?.[0]
      const rows = await listPrices(deps.pool, slug, {
        limit: limit + 1,
        before: before === undefined ? undefined : BigInt(before),
      })
      const position = ({ id }: { readonly id: bigint }) => [String(id)]
      return toPage(rows, limit, request.url, position, (each) => ({
        method: each.method,
        path: each.path,
        price_microdollars: json(each.amount),
        metered: showMeter(each.metered),
        set_at: each.setAt.toISOString(),
        effective_at: each.effectiveAt.toISOString(),
        withdrawn_at: each.withdrawnAt?.toISOString() ?? null,
        current: each.current,
      }))
    },
  }),
]
