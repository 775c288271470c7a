import { expect } from 'chai'
import { systemClock } from '../../../core/clock.ts'
import { saveBillingParty } from '../../../core/finance/documents/billing.ts'
import { checkDocuments, findCommissionGaps } from '../../../core/finance/documents/check.ts'
import type { IssuedDocument, Party } from '../../../core/finance/documents/document.ts'
import { type DocumentDeps, issueDocument } from '../../../core/finance/documents/issue.ts'
import type { AccountRef } from '../../../core/ledger/ledger.ts'
import { reverseCall } from '../../../core/ledger/reverse.ts'
import { micros } from '../../../core/money.ts'
import type { PayoutDeps } from '../../../core/payments/payouts/payout.ts'
import { sendPayouts } from '../../../core/payments/payouts/send.ts'
import { startPayouts } from '../../../core/payments/payouts/start.ts'
import {
  backdatePayouts,
  newId,
  type PayoutFixture,
  type Provider,
  startPayoutFixture,
} from '../payments/payouts/fixture.ts'

const PARTY: Party = {
  legal_name: 'Acme Ltd',
  email: 'invoices@acme.example',
  address: null,
  country: 'IE',
  registration: null,
  tax_id: null,
}
/** Ends of the payouts of a year: on most days more than one fails. */
const YEAR = [
  'failed',
  'failed',
  'confirmed',
  'failed',
  'confirmed',
  'confirmed',
  'failed',
] as const
const UNSENT: Partial<PayoutDeps> = {
  settle: async () => ({ outcome: 'failed', reason: 'insufficient_funds' }) as never,
}

describe('invoices of commission', () => {
  let world: PayoutFixture
  let acme: Provider
  before(async () => {
    world = await startPayoutFixture({ opening: 100_000_000n })
    acme = await world.provider('acme')
    await saveBillingParty(world.pool, acme.owner, PARTY)
  })
  after(() => world.stop())

  /** Posts a call at a commission of a third, and possibly a refund of a part of it. */
  async function sell(payee: AccountRef, amount: bigint, refunded = 0n): Promise<void> {
    const hold = { call: newId(), owner: await world.agent(payee.shard, amount) }
    const terms = { amount, payee, commissionBps: 3_333, ttlSeconds: 60 }
    await world.ledger.reserve({ ...hold, ...terms })
    await world.ledger.settle(hold, amount)
    if (refunded === 0n) return
    const decision = { author: 'ada', reason: 'a dispute' }
    const refund = reverseCall(world.pool, world.ledger, hold, decision, micros(refunded))
    expect(await refund).to.equal('applied')
  }

  async function payout(end: (typeof YEAR)[number]): Promise<void> {
    const ports = { ...world.ports, ...(end === 'failed' && UNSENT) }
    expect(await startPayouts(ports)).to.equal(1)
    await sendPayouts(ports, undefined, 0)
    if (end === 'failed') {
      await world.stack.rpc('evm_increaseTime', 1_801 + 31)
      await world.stack.rpc('anvil_mine')
      await sendPayouts(ports, undefined, 0)
    } else await backdatePayouts(world.admin, acme.id)
  }

  it('add up to the commission of all payouts, also of those that failed', async () => {
    for (const [n, end] of YEAR.entries()) {
      const [first, second] = acme.accounts as [AccountRef, AccountRef]
      await sell(first, 2_000_000n + BigInt(n) * 7n, n % 2 === 0 ? 1_001n : 0n)
      if (n % 3 === 0) await sell(second, 1_000_001n)
      await payout(end)
    }
    const { rows } = await world.pool.query<{ id: string; state: string }>(
      `SELECT o.id, o.state FROM hub.payout o
       WHERE EXISTS (SELECT FROM hub.payout_part p WHERE p.payout = o.id) ORDER BY o.id`,
    )
    expect(rows.map(({ state }) => state)).to.deep.equal(YEAR)
    const deps: DocumentDeps = {
      pool: world.pool,
      clock: systemClock,
      tax: { category: 'O', rate_bps: 0, reason: 'a test' },
      supplier: PARTY,
    }
    const issued: IssuedDocument[] = []
    for (const { id } of rows) {
      issued.push(await issueDocument(deps, [acme.owner], 'commission', id))
    }
    const invoiced = issued.reduce(
      (sum, { content }) => sum + BigInt(content.totals.gross_microdollars),
      0n,
    )
    expect(invoiced).to.equal(await world.ledger.balance('income:commission'))
    expect([...(await checkDocuments(world.pool, issued))]).to.deep.equal([])
    expect(await findCommissionGaps(world.pool)).to.deep.equal([])
    const [failed] = issued
    expect(failed!.content.notes[0]).to.match(/which failed/)
    expect(failed!.content.transaction).to.equal(null)
  })

  it('are found to have a gap where no payout includes an entry', async () => {
    const [{ id }] = (
      await world.pool.query<{ id: string }>(
        'SELECT payout AS id FROM hub.payout_part ORDER BY upto_seq DESC LIMIT 1',
      )
    ).rows as [{ id: string }]
    await world.admin.query(`ALTER TABLE hub.payout_part DISABLE TRIGGER USER;
      UPDATE hub.payout_part SET after_seq = after_seq + 1 WHERE payout = '${id}';
      ALTER TABLE hub.payout_part ENABLE TRIGGER USER`)
    const [gap] = await findCommissionGaps(world.pool)
    expect(gap).to.include({ account: acme.accounts[0]!.code })
    expect(gap!.from).to.equal(gap!.to)
  })
})
