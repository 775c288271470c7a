import type { Pool } from 'pg'
import { getAddress } from 'viem'
import { z } from 'zod'
import type { Config } from '../../../core/config.ts'
import {
  approvePayout,
  listWaitingPayouts,
  type WaitingPayout,
} from '../../../core/finance/payout-approvals.ts'
import { json } from '../../../core/money.ts'
import { listStartedPayouts, type StartedPayout } from '../../../core/payments/payouts/list.ts'
import { listRequestedChanges } from '../../../core/providers/address-change.ts'
import { walletAddress } from '../account/registration.ts'
import { auditReason } from '../fields.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

const amount = z.int().min(0).meta({ description: 'Microdollars.' })

const WaitingPayoutView = z.object({
  provider_id: z.string(),
  owner: z.string().meta({ description: 'Email address or wallet.' }),
  address: z.string(),
  owed_microdollars: amount,
  amount_microdollars: amount.meta({
    description: 'Amount of the next payout: what is owed, up to the daily maximum.',
  }),
  rule: z
    .enum(['first_payout', 'manual_credit', 'approval', 'provider_cap', 'platform_cap'])
    .meta({ description: 'Rule that makes it wait.' }),
  until: z.iso.datetime().nullable().meta({
    description: 'End of the wait. null: it waits for a person.',
  }),
})
const StartedPayoutView = z.object({
  id: z.uuid(),
  provider_id: z.string(),
  address: z.string(),
  amount_microdollars: amount,
  started_at: z.iso.datetime(),
  tried_at: z.iso.datetime().meta({ description: 'Time of the last attempt to send it.' }),
  transaction: z.string().nullable(),
  reason: z.string().nullable().meta({ description: 'Why the last attempt could not send it.' }),
})
const WaitingPayouts = z.object({
  rules: z.object({
    provider_day_microdollars: amount.meta({ description: 'Maximum per provider and UTC day.' }),
    platform_day_microdollars: amount.meta({ description: 'Maximum of all per UTC day.' }),
    alone_microdollars: amount.meta({ description: 'Maximum without an approval.' }),
    first_payout_hours: z.int(),
    manual_credit_hours: z.int(),
  }),
  data: z.array(WaitingPayoutView),
  started: z.array(StartedPayoutView).meta({
    description: 'Payouts that were started and are not final, oldest first.',
  }),
  address_changes: z
    .array(
      z.object({
        provider_id: z.string(),
        owner: z.string(),
        address: z.string(),
        requested_address: z.string(),
        requested_at: z.iso.datetime(),
      }),
    )
    .meta({
      description: 'Requested payout addresses that the current wallet has not signed for.',
    }),
})
const Approval = z.object({ provider_id: z.string(), amount_microdollars: amount })

export type WaitingPayoutsJson = z.infer<typeof WaitingPayouts>
export type StartedPayoutJson = z.infer<typeof StartedPayoutView>
export type WaitingPayoutJson = z.infer<typeof WaitingPayoutView>

export interface FinancePayoutDeps {
  readonly pool: Pool
  readonly payouts: Pick<Config['payouts'], 'minimum' | 'rules'>
}

/** Payouts that wait by a rule, and their approval. */
export const financePayoutRoutes = ({ pool, payouts }: FinancePayoutDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/payouts', {
    summary: 'Lists payouts that were started, and due ones that wait by a rule.',
    auth: 'finance',
    response: { status: 200, schema: WaitingPayouts },
    handle: async () => {
      const { providerCap, platformCap, alone, firstHours, creditHours } = payouts.rules
      const rules = {
        provider_day_microdollars: json(providerCap),
        platform_day_microdollars: json(platformCap),
        alone_microdollars: json(alone),
        first_payout_hours: firstHours,
        manual_credit_hours: creditHours,
      }
      const [waiting, started, changes] = await Promise.all([
        listWaitingPayouts(pool, payouts),
        listStartedPayouts(pool),
        listRequestedChanges(pool),
      ])
      const address_changes = changes.map((change) => ({
        provider_id: change.provider,
        owner: change.owner,
        address: getAddress(change.address),
        requested_address: getAddress(change.requested),
        requested_at: change.requestedAt.toISOString(),
      }))
      const data = waiting.map(showWaiting)
      return { body: { rules, data, started: started.map(showStarted), address_changes } }
    },
  }),
  route('POST /v1/finance/payouts/{provider}/approve', {
    summary: 'Approves the next payout of a provider up to an amount, for seven days.',
    auth: 'finance',
    body: z.strictObject({
      address: walletAddress,
      amount_microdollars: z.int().min(1),
      reason: auditReason,
    }),
    response: { status: 200, schema: Approval },
    faults: ['not_found', 'own_account'],
    handle: async (request) => {
      const { provider } = request.params
      const { address, amount_microdollars: approved, reason } = request.body
      const payout = { provider, address, amount: BigInt(approved) }
      await approvePayout({ pool, ...payouts }, staffOf(request), payout, reason)
      return { body: { provider_id: provider, amount_microdollars: approved } }
    },
  }),
]

const showStarted = (payout: StartedPayout): StartedPayoutJson => ({
  id: payout.id,
  provider_id: payout.provider,
  address: getAddress(payout.payee),
  amount_microdollars: json(payout.amount),
  started_at: payout.startedAt.toISOString(),
  tried_at: payout.triedAt.toISOString(),
  transaction: payout.transaction,
  reason: payout.reason,
})

const showWaiting = (payout: WaitingPayout): WaitingPayoutJson => ({
  provider_id: payout.provider,
  owner: payout.owner,
  address: getAddress(payout.address),
  owed_microdollars: json(payout.owed),
  amount_microdollars: json(payout.amount),
  rule: payout.rule,
  until: payout.until?.toISOString() ?? null,
})
