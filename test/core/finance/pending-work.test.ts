import { expect } from 'chai'
import type { Pool } from 'pg'
import { pendingWork } from '../../../core/finance/pending-work.ts'
import { finalityOn, type NetworkFinality } from '../../../core/payments/networks.ts'
import { forecastPayment } from '../../../core/payments/operations/forecast.ts'
import { listPayments } from '../../../core/payments/operations/overview.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

/** Confirmations of a small payment; $100 takes 6 times as many, $10,000 60 times. */
const FINALITY = 10n
/** Amounts, with the seconds since their authorization expired: a minute around the limit. */
const PAYMENTS: readonly (readonly [amount: bigint, seconds: number, overdue: boolean])[] = [
  [1n, -50, false],
  [1n, 50, false],
  [1n, 170, true],
  [99_999_999n, 170, true],
  [100_000_000n, 170, false],
  [100_000_000n, 270, true],
  [9_999_999_999n, 1_000, true],
  [10_000_000_000n, 1_000, false],
  [10_000_000_000n, 1_400, true],
]

const CLAIM = `
  INSERT INTO hub.payment_claim (network, asset, payer, nonce, id, purpose, pay_to, payee,
    commission_bps, request_hash, amount, state, valid_before)
  SELECT $5, a, a, '0x' || lpad(to_hex($1::integer), 64, '0'), gen_random_uuid(), 'credits', a,
    'p', 0, '', $2, $3, now() - make_interval(secs => $4)
  FROM (SELECT '0x' || repeat('ab', 20)) w(a)`

describe('the pending work of finance', () => {
  let database: FreshDatabase
  let admin: Pool
  before(async () => {
    database = await freshDatabase()
    admin = database.admin
  })
  after(() => database.drop())

  const waiting = (finality: NetworkFinality = { finality: FINALITY }) =>
    pendingWork(database.pool, finality)
  const NOTHING = {
    sound: true,
    failures: [],
    exceptions: 0n,
    payments: 0n,
    overdue: 0n,
    payouts: 0n,
    proposals: 0n,
    refusals: 0n,
    commands: 0n,
    paused: false,
  }

  it('is empty on a new hub', async () => {
    expect(await waiting()).to.deep.equal(NOTHING)
  })

  it('counts the same overdue payments as their list, and no final one', async () => {
    for (const [i, [amount, seconds]] of PAYMENTS.entries()) {
      await admin.query(CLAIM, [i, amount, 'settled', seconds, 'n'])
    }
    for (const [i, state] of ['confirmed', 'failed', 'released'].entries()) {
      await admin.query(CLAIM, [100 + i, 1n, state, 9_999, 'n'])
    }
    const seen = await listPayments(database.pool, { open: true, limit: 100 })
    const late = seen.filter((payment) => forecastPayment(payment, FINALITY).isOverdue)
    const expected = PAYMENTS.filter(([, , overdue]) => overdue).length
    expect(late).to.have.length(expected)
    expect(await waiting()).to.include({
      payments: BigInt(PAYMENTS.length),
      overdue: BigInt(expected),
    })
  })

  it('counts payments as overdue by the finality of their own network', async () => {
    const POLYGON = 'eip155:137' as const
    const networks = [{ asset: { network: POLYGON }, finality: 45n }] as const
    const finality = { finality: FINALITY, networks }
    const before = await waiting(finality)
    const [network, more] = [POLYGON, 1_000]
    for (const [i, [amount, seconds]] of PAYMENTS.entries())
      await admin.query(CLAIM, [more + i, amount, 'settled', seconds, network])
    const seen = await listPayments(database.pool, { open: true, limit: 100 })
    const late = seen.filter(
      (payment) => forecastPayment(payment, finalityOn(finality, payment.network)).isOverdue,
    )
    const ofPolygon = late.filter((payment) => payment.network === POLYGON)
    const { overdue } = await waiting(finality)
    expect(overdue).to.equal(BigInt(late.length))
    expect(overdue - before.overdue).to.equal(BigInt(ofPolygon.length))
    expect(ofPolygon.length, 'later than on Base').to.be.below(late.length - ofPolygon.length)
    await admin.query('DELETE FROM hub.payment_claim WHERE network = $1', [POLYGON])
  })

  it('counts payouts that were started, until they are final', async () => {
    const insert = (n: number, state: string) =>
      admin.query(
        `INSERT INTO hub.payout (id, provider, batch, attempt, amount, recovered, shard, payer,
           payee, nonce, valid_before, from_block, state, transaction, ended_at)
         SELECT gen_random_uuid(), 'p' || $1, '2026-01-02', 1, 1, 0, 0, a, a, h, now(), 1, $2, h,
           CASE WHEN $2 <> 'started' THEN now() END
         FROM (SELECT '0x' || repeat('ab', 20), '0x' || lpad($1::text, 64, '0')) w(a, h)`,
        [n, state],
      )
    await admin.query(`ALTER TABLE hub.payout DISABLE TRIGGER ALL`)
    for (const [n, state] of ['started', 'started', 'confirmed', 'failed'].entries()) {
      await insert(n, state)
    }
    await admin.query(`ALTER TABLE hub.payout ENABLE TRIGGER ALL`)
    expect(await waiting()).to.have.property('payouts', 2n)
  })

  it('counts every open exception, and includes the payment switch', async () => {
    await admin.query(
      `INSERT INTO hub.reconciliation_exception (wallet, kind, fact, amount, reason)
       SELECT 'treasury', 'balance_differs', n, n, 'why' FROM generate_series(1, 150) n`,
    )
    await admin.query(
      `UPDATE hub.reconciliation_exception SET resolved_at = now(), resolution = 'explained',
         author = 'ann', explanation = 'seen' WHERE fact = '7'`,
    )
    await admin.query(`SELECT hub.switch_outgoing(true, 'ann', 'a test')`)
    expect(await waiting()).to.include({ exceptions: 149n, paused: true })
  })

  it('reports a trial balance that is not zero', async () => {
    expect(await waiting()).to.have.property('sound', true)
    await admin.query(
      `INSERT INTO ledger.balance (account, shard, asset, balance)
       SELECT id, 0, asset, 1 FROM ledger.account WHERE code = 'liabilities:suspense'
       ON CONFLICT (account, shard) DO UPDATE SET balance = ledger.balance.balance + 1`,
    )
    expect(await waiting()).to.have.property('sound', false)
  })
})
