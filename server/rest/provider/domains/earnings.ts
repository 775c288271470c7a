import { z } from 'zod'
import { listPageEarnings, type PageEarnings } from '../../../../core/catalog/domains/earnings.ts'
import { findDomain } from '../../../../core/catalog/domains/store.ts'
import { daysBefore } from '../../../../core/clock.ts'
import { json } from '../../../../core/money.ts'
import { dayRange, dayRangeFields } from '../../days.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../../paging.ts'
import { type AnyRoute, ownerOf, route } from '../../route.ts'
import type { DomainDeps } from './deps.ts'

const amount = z.int().min(0)
const EarningRow = z.object({
  page: z.string().optional(),
  caller: z.string().optional().meta({ description: 'Pseudonym, stable for each caller.' }),
  day: z.iso.date().optional(),
  calls: amount,
  cached_calls: amount,
  charged_microdollars: amount,
  earned_microdollars: amount.meta({ description: 'After commission.' }),
})

export type EarningJson = z.infer<typeof EarningRow>

export const domainEarningRoutes = (deps: DomainDeps): readonly AnyRoute[] => [
  route('GET /v1/domains/{id}/earnings', {
    summary: 'Lists earnings of a domain by page, caller or day, highest first.',
    auth: 'provider',
    query: listQuery({
      ...dayRangeFields,
      by: z.enum(['page', 'caller', 'day']).default('page'),
    }),
    response: { status: 200, schema: pageSchema(EarningRow) },
    faults: ['root_key_required', 'domain_not_found', 'validation_failed'],
    handle: async (request) => {
      const { by, limit, cursor, from, to } = request.query
      const domain = await findDomain(deps.pool, ownerOf(request), request.params.id)
      const { since, until } = dayRange({ from, to }, deps.clock.now())
      const after = readCursor(cursor, z.tuple([z.string().regex(/^\d{1,18}$/), z.string()]))
      const rows = await listPageEarnings(deps.pool, {
        domain: domain.id,
        by,
        from: since,
        until: daysBefore(until, -1),
        limit: limit + 1,
        after: after && [BigInt(after[0]), after[1]],
        secret: deps.callerNames.current.material,
      })
      const position = ({ earned, of }: PageEarnings) => [String(earned), of]
      return toPage(rows, limit, request.url, position, (row) => ({
        [by]: row.of,
        calls: json(row.calls),
        cached_calls: json(row.cached),
        charged_microdollars: json(row.charged),
        earned_microdollars: json(row.earned),
      }))
    },
  }),
]
