import { z } from 'zod'
import { listUnusableCredits, proposeBreakage } from '../../../core/finance/breakage.ts'
import type { FinanceDeps } from '../../../core/finance/staff-acts.ts'
import { json } from '../../../core/money.ts'
import { auditReason } from '../fields.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'
import { DecisionView } from './proposals.ts'

const UnusableCredits = z.object({
  key_id: z.string(),
  owner: z.string().nullable().meta({ description: 'Wallet or email address.' }),
  since: z.iso.datetime().meta({ description: 'Time at which the key was revoked or expired.' }),
  credits_microdollars: z.int(),
})

const UnusableCreditsList = z.object({ data: z.array(UnusableCredits) })

export type UnusableCreditsJson = z.infer<typeof UnusableCreditsList>

/** Credits of keys that do not work any more, and their breakage. */
export const breakageRoutes = (deps: FinanceDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/unusable-credits', {
    summary: 'Lists credits of revoked and expired keys, the oldest first.',
    auth: 'finance',
    response: { status: 200, schema: UnusableCreditsList },
    handle: async () => {
      const rows = await listUnusableCredits(deps.pool)
      const data = rows.map(({ keyId, owner, since, credits }) => ({
        key_id: keyId,
        owner,
        since: since.toISOString(),
        credits_microdollars: json(credits),
      }))
      return { body: { data } }
    },
  }),
  route('POST /v1/finance/unusable-credits/{key}/breakage', {
    summary: 'Proposes to post credits of a revoked or expired key as income; two people.',
    auth: 'finance',
    body: z.strictObject({
      amount_microdollars: z.int().min(1).optional().meta({ description: 'Default: all of them.' }),
      reason: auditReason,
    }),
    response: { status: 202, schema: DecisionView },
    faults: ['not_booked', 'own_account'],
    handle: async (request) => {
      const { amount_microdollars: part, reason } = request.body
      const amount = part === undefined ? undefined : BigInt(part)
      const { key } = request.params
      return {
        status: 202,
        body: await proposeBreakage(deps, staffOf(request), key, reason, amount),
      }
    },
  }),
]
