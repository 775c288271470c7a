import { z } from 'zod'
import { type Earning, earningsBy } from '../../../core/catalog/domains/earnings.ts'
import { findDomain } from '../../../core/catalog/domains/store.ts'
import { daysBefore } from '../../../core/clock.ts'
import { json } from '../../../core/money.ts'
import { Days, rangeOf } from '../account/wallet.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'
import type { DomainPorts } from './domains.ts'

const amount = z.int().min(0)
const Row = z.object({
  page: z.string().optional(),
  caller: z.string().optional().meta({ description: 'A pseudonym, the same for the same caller.' }),
  day: z.iso.date().optional(),
  calls: amount,
  cached_calls: amount,
  charged_microdollars: amount,
  earned_microdollars: amount.meta({ description: 'After commission.' }),
})

export type EarningJson = z.infer<typeof Row>

/** What a domain earns. */
export const domainEarnings = (ports: DomainPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/domains/{id}/earnings',
    summary: 'What a domain earned by page, caller or day, the most first.',
    auth: 'provider',
    query: Days.extend({ by: z.enum(['page', 'caller', 'day']).default('page'), ...paging }),
    answer: { status: 200, schema: pageOf(Row) },
    faults: ['root_key_required', 'domain_not_found', 'validation_failed'],
    handle: async (request) => {
      const { by, limit, cursor, from, to } = request.query
      const domain = await findDomain(ports.pool, ownerOf(request), request.params['id'] ?? '')
      const { since, until } = rangeOf({ from, to }, ports.clock.now())
      const after = readCursor(cursor, z.tuple([z.string().regex(/^\d{1,18}$/), z.string()]))
      const rows = await earningsBy(ports.pool, {
        domain: domain.id,
        by,
        from: since,
        until: daysBefore(until, -1),
        limit: limit + 1,
        after: after && [BigInt(after[0]), after[1]],
        secret: ports.secret,
      })
      const position = ({ earned, of }: Earning) => [String(earned), of]
      return page(rows, limit, request.url, position, (row) => ({
        [by]: row.of,
        calls: json(row.calls),
        cached_calls: json(row.cached),
        charged_microdollars: json(row.charged),
        earned_microdollars: json(row.earned),
      }))
    },
  }),
]
