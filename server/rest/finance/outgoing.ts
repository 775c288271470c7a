import type { Pool } from 'pg'
import { z } from 'zod'
import type { Config } from '../../../core/config.ts'
import { setOutgoingPaused } from '../../../core/finance/decisions.ts'
import type { Log } from '../../../core/log.ts'
import { json } from '../../../core/money.ts'
import { OutgoingSwitch } from '../../../core/payments/operations/outgoing-switch.ts'
import { listWorstSellers, readOutflowToday } from '../../../core/payments/operations/overview.ts'
import { auditReason } from '../fields.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

const amount = z.int().min(0).meta({ description: 'Microdollars.' })
const count = z.int().min(0)

const Outgoing = z.object({
  paused: z.boolean(),
  author: z.string().nullable().meta({ description: 'Author of the last change. null: none.' }),
  reason: z.string().nullable(),
  since: z.iso.datetime().nullable(),
  automatic: z.boolean().meta({
    description: 'True if the pause ends by itself with the next reconciliation.',
  }),
  caps: z
    .object({
      call_microdollars: amount,
      key_day_microdollars: amount,
      host_day_microdollars: amount,
      platform_day_microdollars: amount,
    })
    .meta({ description: 'Limits on signed payments, per call and per UTC day.' }),
  today: z.object({
    day: z.iso.date(),
    platform_microdollars: amount,
    hosts: z.array(z.object({ host: z.string(), amount_microdollars: amount })),
    keys: z.array(z.object({ key_id: z.string(), amount_microdollars: amount })),
  }),
  worst_sellers: z
    .array(
      z.object({
        seller: z.string(),
        signed: count,
        taken: count,
        delivered: count,
        open: count,
        last_at: z.iso.datetime(),
      }),
    )
    .meta({ description: 'Sellers that took money and delivered nothing.' }),
})

export type OutgoingJson = z.infer<typeof Outgoing>

export interface OutgoingDeps {
  readonly pool: Pool
  readonly outflow: Config['outflow']
  readonly log: Log
}

/** Totals of payments to sellers, and the switch that pauses them in all processes. */
export const outgoingRoutes = (deps: OutgoingDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/outgoing', {
    summary: 'Returns the state of payments to sellers, today’s totals and the worst sellers.',
    auth: 'finance',
    response: { status: 200, schema: Outgoing },
    handle: async () => ({ body: await showOutgoing(deps) }),
  }),
  route('POST /v1/finance/outgoing', {
    summary: 'Pauses or resumes payments to sellers. Other calls are not affected.',
    auth: 'finance',
    body: z.strictObject({ paused: z.boolean(), reason: auditReason }),
    response: { status: 200, schema: Outgoing },
    handle: async (request) => {
      const { paused, reason } = request.body
      const staff = staffOf(request)
      await setOutgoingPaused(deps, staff, paused, reason)
      const author = staff.name
      deps.log.warn({ paused, author, reason }, 'switched payments to sellers')
      return { body: await showOutgoing(deps) }
    },
  }),
]

async function showOutgoing({ pool, outflow }: OutgoingDeps): Promise<z.infer<typeof Outgoing>> {
  const [state, today, sellers] = await Promise.all([
    new OutgoingSwitch(pool).state(),
    readOutflowToday(pool),
    listWorstSellers(pool),
  ])
  return {
    paused: state?.paused ?? false,
    author: state?.author ?? null,
    reason: state?.reason ?? null,
    since: state?.at.toISOString() ?? null,
    automatic: state?.automatic ?? false,
    caps: {
      call_microdollars: json(outflow.call),
      key_day_microdollars: json(outflow.key),
      host_day_microdollars: json(outflow.host),
      platform_day_microdollars: json(outflow.platform),
    },
    today: {
      day: today.day,
      platform_microdollars: json(today.platform),
      hosts: today.hosts.map(({ host, amount }) => ({ host, amount_microdollars: json(amount) })),
      keys: today.keys.map(({ key, amount }) => ({
        key_id: key,
        amount_microdollars: json(amount),
      })),
    },
    worst_sellers: sellers.map(({ lastAt, ...seller }) => ({
      seller: seller.seller,
      signed: json(seller.signed),
      taken: json(seller.taken),
      delivered: json(seller.delivered),
      open: json(seller.open),
      last_at: lastAt.toISOString(),
    })),
  }
}
