import { type Json, lastMonth } from './world.ts'

/** A privileged act that succeeds, one that fails, and the line that the first one leaves. */
export interface Walk {
  readonly act: string
  /** What the path names, and the body: for the act, … */
  readonly good: () => Promise<readonly [id: string, body: Json]>
  /** … and for one that is refused. */
  readonly bad: readonly [id: string, body: Json]
}

export const reason = 'a test'

const always =
  (id: string, body: Json): Walk['good'] =>
  async () => [id, body]

/** Those that need nothing but what is there from the start. */
export const WALKS_ALONE: Readonly<Record<string, Walk>> = {
  'POST /v1/admin/services/{id}/suspend': {
    act: 'service.suspend',
    good: always('analysis', { reason }),
    bad: ['nowhere', { reason }],
  },
  'POST /v1/admin/providers/{id}/commission': {
    act: 'commission.set',
    good: always('example', { bps: 700, reason }),
    bad: ['nowhere', { bps: 700, reason }],
  },
  'POST /v1/admin/providers/{id}/suspend': {
    act: 'provider.suspend',
    good: always('agenthub', { reason }),
    bad: ['nowhere', { reason }],
  },
  'POST /v1/finance/outgoing': {
    act: 'outgoing.pause',
    good: always('', { paused: true, reason }),
    bad: ['', { paused: true, reason: ' ' }],
  },
  'POST /v1/finance/periods': {
    act: 'period.close',
    good: always('', { month: lastMonth(), reason }),
    bad: ['', { month: '2099-01', reason }],
  },
  'POST /v1/finance/adjustments': {
    act: 'entry.adjust',
    good: always('', { debit: 'expenses:free-tier', credit: 'equity:opening', amount: 5, reason }),
    bad: ['', { debit: 'expenses:nothing', credit: 'equity:opening', amount: 5, reason }],
  },
  'POST /v1/finance/exports': {
    act: 'export.start',
    good: always('', { format: 'csv', reason }),
    bad: ['', { format: 'csv', opening: true, reason }],
  },
}
