import { ask } from '../../support/ask.ts'
import type { TestHub } from '../../support/hub.ts'
import { createWaitingPayout } from '../web/waiting-payouts.ts'
import { createDebt, createEth, createUnusableKey } from './debts.ts'
import { createException, createPendingName, type Json, lastMonth } from './fixture.ts'

/** Inputs of a privileged route: one that succeeds, one that fails, and the audited action. */
export interface PrivilegedAction {
  readonly act: string
  /** Input that succeeds. */
  readonly good: () => Promise<readonly [id: string, body: Json]>
  /** Input that is rejected. */
  readonly bad: readonly [id: string, body: Json]
}

export const reason = 'a test'

const withInput =
  (id: string, body: Json): PrivilegedAction['good'] =>
  async () => [id, body]

/** Actions that need no setup. */
export const SIMPLE_ACTIONS: Readonly<Record<string, PrivilegedAction>> = {
  'POST /v1/admin/services/{id}/suspend': {
    act: 'service.suspend',
    good: withInput('analysis', { reason }),
    bad: ['nowhere', { reason }],
  },
  'POST /v1/admin/providers/{id}/commission': {
    act: 'commission.set',
    good: withInput('example', { bps: 700, reason }),
    bad: ['nowhere', { bps: 700, reason }],
  },
  'POST /v1/admin/providers/{id}/suspend': {
    act: 'provider.suspend',
    good: withInput('agenthub', { reason }),
    bad: ['nowhere', { reason }],
  },
  'POST /v1/finance/outgoing': {
    act: 'outgoing.pause',
    good: withInput('', { paused: true, reason }),
    bad: ['', { paused: true, reason: ' ' }],
  },
  'POST /v1/finance/periods': {
    act: 'entry.propose',
    good: withInput('', { month: lastMonth(), override: true, reason }),
    bad: ['', { month: '2099-01', reason }],
  },
  'POST /v1/finance/adjustments': {
    act: 'entry.adjust',
    good: withInput('', {
      debit: 'expenses:free-tier',
      credit: 'equity:opening',
      amount: 5,
      reason,
    }),
    bad: ['', { debit: 'expenses:nothing', credit: 'equity:opening', amount: 5, reason }],
  },
  'POST /v1/admin/incidents': {
    act: 'incident.report',
    good: withInput('', { title: 'Slow payments', message: 'Payments take longer.', reason }),
    bad: ['', { title: 'Slow', service: 'nowhere', message: 'It takes longer.', reason }],
  },
  'POST /v1/finance/exports': {
    act: 'export.start',
    good: withInput('', { format: 'csv', reason }),
    bad: ['', { format: 'csv', opening: true, reason }],
  },
}

const NO_WALLET = `0x${'1'.repeat(40)}`
const ETH_PRICE = { price_microdollars: 3_000_000_000, source: 'an exchange' }

/** Actions about differences that reconciliation found. */
export const exceptionActions = (
  hub: () => TestHub,
): Readonly<Record<string, PrivilegedAction>> => ({
  'POST /v1/finance/exceptions/{id}/resolve': {
    act: 'exception.resolve',
    good: async () => [await createException(hub()), { decision: 'surplus', reason }],
    bad: ['999999', { decision: 'surplus', reason }],
  },
  'POST /v1/finance/small-deposits/resolve': {
    act: 'exception.resolve',
    good: async () => {
      await createException(hub())
      return ['', { wallet: 'treasury', reason }]
    },
    bad: ['', { wallet: 'treasury:polygon', reason }],
  },
})

/** Actions about payouts that wait for a person, and about debts. */
export const payoutActions = (hub: () => TestHub): Readonly<Record<string, PrivilegedAction>> => ({
  'POST /v1/finance/payouts/{provider}/approve': {
    act: 'payout.approve',
    good: async () => {
      await createWaitingPayout(hub(), 'p-approve')
      const { rows } = await hub().database.admin.query<{ address: string }>(
        `SELECT address FROM hub.payout_destination WHERE provider = 'p-approve'`,
      )
      const body = { address: rows[0]!.address, amount_microdollars: 640_000_000, reason }
      return ['p-approve', body]
    },
    bad: ['nowhere', { address: NO_WALLET, amount_microdollars: 1, reason }],
  },
  'POST /v1/admin/providers/{id}/payout-address': {
    act: 'payout.recover',
    good: async () => {
      await createWaitingPayout(hub(), 'p-recover')
      return ['p-recover', { address: `0x${'5'.repeat(40)}`, reason }]
    },
    bad: ['nowhere', { address: NO_WALLET, reason }],
  },
  'POST /v1/finance/revaluations': {
    act: 'holdings.revalue',
    good: async () => {
      await createEth(hub(), 1_000n)
      return ['', { ...ETH_PRICE, month: lastMonth(), reason }]
    },
    bad: ['', { ...ETH_PRICE, month: '2099-01', reason }],
  },
  'POST /v1/finance/receivables/{provider}/recovery': {
    act: 'debt.recover',
    good: async () => [await createDebt(hub(), 'p-debtor', 5n, 3n), { reason }],
    bad: ['nobody', { reason }],
  },
  'POST /v1/finance/receivables/{provider}/write-off': {
    act: 'entry.propose',
    good: async () => [await createDebt(hub(), 'p-insolvent', 5n, 0n), { reason }],
    bad: ['nobody', { reason }],
  },
  'POST /v1/finance/unusable-credits/{key}/breakage': {
    act: 'entry.propose',
    good: async () => [await createUnusableKey(hub(), 5n), { reason }],
    bad: ['nobody', { reason }],
  },
})

/** Decision about a requested rate limit; its audit line is about the key. */
const rateActions = (hub: () => TestHub): Readonly<Record<string, PrivilegedAction>> => ({
  'POST /v1/admin/rate-requests/{id}': {
    act: 'key.rate',
    good: async () => {
      const { apiKey: key } = await hub().agent()
      const body = { requests_per_minute: 700, purpose: 'Reviews.' }
      const response = await ask(hub().url, '/v1/rate-requests', { key, body })
      return [String(response.body['id']), { requests_per_minute: 700, reason }]
    },
    bad: ['rrq_0000000000000000', { requests_per_minute: 700, reason }],
  },
})

/** Updates of a reported incident. */
const incidentActions = (hub: () => TestHub): Readonly<Record<string, PrivilegedAction>> => ({
  'POST /v1/admin/incidents/{id}': {
    act: 'incident.update',
    good: async () => {
      const { admin } = hub().database
      const id = 'inc_0123456789abcdef'
      await admin.query(`INSERT INTO hub.incident (id, title) VALUES ($1, 'Slow search')`, [id])
      return [id, { state: 'resolved', message: 'Search is fast again.', reason }]
    },
    bad: ['inc_0000000000000000', { state: 'resolved', message: 'It is over.', reason }],
  },
})

/** Decisions about display names of providers that await approval. */
const nameActions = (hub: () => TestHub): Readonly<Record<string, PrivilegedAction>> =>
  Object.fromEntries(
    ['approve', 'refuse'].map((decision) => [
      `POST /v1/admin/providers/{id}/${decision}-name`,
      {
        act: `provider.${decision}`,
        good: async () => [await createPendingName(hub()), { reason, version: 1 }] as const,
        bad: ['agenthub', { reason, version: 1 }] as const,
      },
    ]),
  )

/** Decisions about what users requested, and what administrators publish. */
export const reviewActions = (hub: () => TestHub): Readonly<Record<string, PrivilegedAction>> => ({
  ...rateActions(hub),
  ...nameActions(hub),
  ...incidentActions(hub),
})
