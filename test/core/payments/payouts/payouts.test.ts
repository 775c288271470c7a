import { expect } from 'chai'
import { setSuspension } from '../../../../core/catalog/services/suspension.ts'
import { inTransaction } from '../../../../core/db/transaction.ts'
import { reverseCall } from '../../../../core/ledger/reverse.ts'
import { micros } from '../../../../core/money.ts'
import { OutgoingSwitch } from '../../../../core/payments/operations/outgoing-switch.ts'
import type { PayoutDeps } from '../../../../core/payments/payouts/payout.ts'
import { readProviderBalances } from '../../../../core/payments/payouts/provider-balances.ts'
import { sendPayouts } from '../../../../core/payments/payouts/send.ts'
import { startPayouts } from '../../../../core/payments/payouts/start.ts'
import { readServiceSums, readStatementLines } from '../../../../core/payments/payouts/statement.ts'
import { reconcile } from '../../../../core/reconciliation/reconcile.ts'
import { newId, type PayoutFixture, type Provider, startPayoutFixture } from './fixture.ts'

const USD = 1_000_000n

interface Row {
  readonly id: string
  readonly state: string
  readonly amount: bigint
  readonly recovered: bigint
  readonly reason: string | null
}

describe('payouts', () => {
  let world: PayoutFixture
  before(async () => {
    world = await startPayoutFixture({ opening: 100n * USD })
  })
  after(() => world.stop())

  const pay = async (own: Partial<PayoutDeps> = {}): Promise<void> => {
    const ports = { ...world.ports, ...own }
    await startPayouts(ports)
    await sendPayouts(ports, undefined, 0)
  }
  const payoutsOf = async ({ id }: Provider): Promise<readonly Row[]> =>
    (
      await world.pool.query<Row>(
        `SELECT id, state, amount, recovered, reason FROM hub.payout WHERE provider = $1
         ORDER BY id`,
        [id],
      )
    ).rows
  const held = ({ address }: Provider): Promise<bigint> => world.chain.balanceOf(address)
  const owed = async ({ accounts }: Provider): Promise<bigint> => {
    const codes = [...new Set(accounts.map(({ code }) => code))]
    const each = await Promise.all(codes.map((code) => world.ledger.balance(code)))
    return each.reduce((a, b) => a + b, 0n)
  }
  const change = (set: string, where: string) =>
    world.admin.query(`ALTER TABLE hub.payout DISABLE TRIGGER keep;
      UPDATE hub.payout SET ${set} WHERE ${where}; ALTER TABLE hub.payout ENABLE TRIGGER keep`)
  /** Moves the payout to another day, because a day has one payout that did not fail. */
  const nextDay = (provider: Provider) =>
    change(`state = 'failed'`, `provider = '${provider.id}' AND state = 'confirmed'`)
  const sumOf = async ({ id }: Row): Promise<bigint> =>
    (await readStatementLines(world.pool, id, 1_000)).reduce((sum, { amount }) => sum + amount, 0n)

  it('pay the earnings of all services on all shards by one transfer', async () => {
    const provider = await world.provider('p-first', ['one', 'two'])
    for (const [i, account] of provider.accounts.entries()) {
      await world.earn(account, USD + BigInt(i))
      await world.earn(account, 10n)
    }
    await pay()
    const [payout, ...more] = await payoutsOf(provider)
    expect(more).to.deep.equal([])
    expect(payout).to.include({ state: 'confirmed', amount: 4n * USD + 46n, recovered: 0n })
    expect(await held(provider)).to.equal(payout!.amount)
    expect(await owed(provider)).to.equal(0n)
    const sums = await readServiceSums(world.pool, payout!.id)
    expect(sums.map(({ service, earned, calls }) => [service, earned, calls])).to.deep.equal([
      ['one', 2n * USD + 21n, 4n],
      ['two', 2n * USD + 25n, 4n],
    ])
    expect(await sumOf(payout!)).to.equal(payout!.amount)
  })

  it('are made once a day, from the minimum on, to providers with an active address', async () => {
    const provider = await world.provider('p-daily')
    const [account] = provider.accounts
    /** Events sent to the owner. */
    const holding = async () => {
      const { waitsFor, owed, pending, paid } = (
        await readProviderBalances(world.pool, [provider.owner], world.ports)
      )[0]!
      return [waitsFor, owed, pending, paid]
    }
    expect(await holding()).to.deep.equal(['minimum', 0n, 0n, 0n])
    await world.earn(account!, USD - 1n)
    await pay()
    expect(await payoutsOf(provider), 'below the minimum').to.deep.equal([])
    expect(await holding()).to.deep.equal(['minimum', USD - 1n, 0n, 0n])
    await world.earn(account!, 1n)
    await world.admin.query(
      `WITH known AS (SELECT provider, '0x' || repeat('7', 40) AS address, set_by
           FROM hub.payout_address WHERE provider = 'p-daily'),
         recoverer AS (INSERT INTO hub.principal (id, shard) VALUES ('prn_0123456789abcdef', 0)
           RETURNING id),
         asked AS (INSERT INTO hub.payout_address_request (provider, address, requested_by, nonce)
           SELECT provider, address, set_by, 'change' FROM known RETURNING id)
       SELECT id FROM asked`,
    )
    await world.admin.query(
      `INSERT INTO hub.payout_address
         (provider, address, set_by, nonce, effective_at, request, recoverer)
       SELECT provider, address, requested_by, nonce, now() + interval '1 hour', id,
         'prn_0123456789abcdef'
       FROM hub.payout_address_request`,
    )
    await pay()
    expect(await payoutsOf(provider), 'while a change waits').to.deep.equal([])
    expect(await holding()).to.deep.equal(['address_change', USD, 0n, 0n])
    await world.admin.query(
      `UPDATE hub.payout_address SET withdrawn_at = now() WHERE nonce = 'change'`,
    )
    const outgoing = new OutgoingSwitch(world.pool)
    await outgoing.set(true, 'finance', 'a test')
    await pay()
    expect(await payoutsOf(provider), 'while payments are paused').to.deep.equal([])
    expect(await holding()).to.deep.equal(['pause', USD, 0n, 0n])
    await outgoing.set(false, 'finance', 'a test')
    const suspended = (reason: string | null) =>
      inTransaction(world.admin, (on) => setSuspension(on, 'provider', provider.id, reason))
    await suspended('a test')
    await pay()
    expect(await payoutsOf(provider), 'while an administrator has stopped it').to.deep.equal([])
    expect(await holding()).to.deep.equal(['suspension', USD, 0n, 0n])
    await suspended(null)
    expect(await holding()).to.deep.equal(['run', USD, 0n, 0n])
    await startPayouts(world.ports)
    expect(await holding()).to.deep.equal(['payout', 0n, USD, 0n])
    await pay()
    await world.earn(account!, 2n * USD)
    await pay()
    expect(await holding()).to.deep.equal(['tomorrow', 2n * USD, 0n, USD])
    expect((await payoutsOf(provider)).map(({ amount }) => amount)).to.deep.equal([USD])
    await nextDay(provider)
    await pay()
    expect((await payoutsOf(provider)).map(({ amount }) => amount)).to.deep.equal([USD, 2n * USD])
    expect(await held(provider)).to.equal(3n * USD)
  })

  it('that were never taken are owed again and paid by the next attempt', async () => {
    const provider = await world.provider('p-unlucky')
    for (const account of provider.accounts) await world.earn(account, USD)
    const lost = async () => ({ outcome: 'failed', reason: 'insufficient_funds' }) as never
    await pay({ settle: lost })
    expect(await payoutsOf(provider)).to.have.nested.property('[0].state', 'started')
    expect(await owed(provider)).to.equal(0n)
    await world.stack.rpc('evm_increaseTime', 1_801 + 31)
    await world.stack.rpc('anvil_mine')
    await sendPayouts({ ...world.ports, settle: lost }, undefined, 0)
    expect(await payoutsOf(provider)).to.have.nested.property('[0].state', 'failed')
    expect(await owed(provider)).to.equal(2n * USD)
    await pay()
    const [, second] = await payoutsOf(provider)
    expect(second).to.include({ state: 'confirmed', amount: 2n * USD })
    expect(await held(provider)).to.equal(2n * USD)
    const lines = await readStatementLines(world.pool, second!.id, 10)
    expect(lines.map(({ event, amount }) => [event, amount])).to.deep.equal([
      ['payout.failed', 2n * USD],
    ])
  })

  it('are not signed once payments are paused, also by a run that had begun', async () => {
    const provider = await world.provider('p-paused')
    await world.earn(provider.accounts[0]!, USD)
    await pay({ settle: async () => ({ outcome: 'failed', reason: 'unavailable' }) as never })
    const outgoing = new OutgoingSwitch(world.pool)
    const chain = Object.assign(Object.create(world.chain) as typeof world.chain, {
      async authorizationOutcome(...of: Parameters<typeof world.chain.authorizationOutcome>) {
        await outgoing.set(true, 'finance', 'a test')
        return world.chain.authorizationOutcome(...of)
      },
    })
    await sendPayouts({ ...world.ports, chain }, undefined, 0)
    expect(await held(provider)).to.equal(0n)
    await outgoing.set(false, 'finance', 'a test')
    await pay()
    expect(await held(provider)).to.equal(USD)
  })

  it('whose response was lost are found on the chain and not paid again', async () => {
    const provider = await world.provider('p-silent')
    await world.earn(provider.accounts[0]!, 3n * USD)
    let sent = 0
    const silent: PayoutDeps['settle'] = async (...payment) => {
      sent++
      const { payer, amount, responseHeader } = await world.ports.settle(...payment)
      return { outcome: 'pending', payer, amount, responseHeader }
    }
    await pay({ settle: silent })
    expect(await payoutsOf(provider)).to.have.nested.property('[0].state', 'confirmed')
    expect([sent, await held(provider)]).to.deep.equal([1, 3n * USD])
  })

  it('first recover refunds made after an earlier payout', async () => {
    const { ledger, pool } = world
    const provider = await world.provider('p-refunding')
    const [payee] = provider.accounts
    const owner = await world.agent(0, 10n * USD)
    const hold = { call: newId(), owner }
    const terms = { amount: 4n * USD, payee: payee!, commissionBps: 1_000, ttlSeconds: 60 }
    await ledger.reserve({ ...hold, ...terms })
    await ledger.settle(hold, 4n * USD)
    await pay()
    expect(await held(provider)).to.equal(3_600_000n)
    await reverseCall(pool, ledger, hold, { author: 'ada', reason: 'a dispute' }, micros(USD))
    expect(await ledger.balance('assets:receivable:providers')).to.equal(-900_000n)
    await world.earn(provider.accounts[1]!, 2n * USD)
    await nextDay(provider)
    await pay()
    const [, second] = await payoutsOf(provider)
    expect(second).to.include({ amount: 1_100_000n, recovered: 900_000n, state: 'confirmed' })
    expect(await ledger.balance('assets:receivable:providers')).to.equal(0n)
    expect(await sumOf(second!)).to.equal(second!.amount)
    const [sums] = await readServiceSums(pool, second!.id)
    expect(sums).to.include({ gross: 2n * USD, recovered: 900_000n, other: 0n, earned: 1_100_000n })
  })

  it('wait and log an error while the spend wallet has insufficient funds', async () => {
    const rich = await world.provider('p-rich')
    const modest = await world.provider('p-safe')
    await world.earn(rich.accounts[0]!, 1_000n * USD)
    await world.earn(modest.accounts[0]!, USD)
    await pay()
    expect(await payoutsOf(rich)).to.deep.equal([])
    expect(await payoutsOf(modest)).to.have.nested.property('[0].state', 'confirmed')
    expect(world.logged()).to.include('the spend wallet cannot pay all providers')
  })

  it('are refused by the database unless they match their entries', async () => {
    const [{ id, amount }] = (await payoutsOf({ id: 'p-first' } as Provider)) as [Row]
    const attempt = (sql: string) =>
      world.pool.query(sql).then(
        () => 'done',
        (error: Error) => error.message,
      )
    const copy = (change: string) =>
      attempt(`INSERT INTO hub.payout (id, provider, batch, attempt, amount, recovered, shard,
          payer, payee, nonce, valid_before, from_block, rules)
        SELECT gen_random_uuid(), ${change}, recovered, shard, payer, payee,
          '0x' || md5(random()::text) || md5(random()::text), valid_before, from_block, rules
        FROM hub.payout WHERE id = '${id}'`)
    expect(await copy(`provider, batch - 5, 1, amount`)).to.match(/is of \d+, and its entries of 0/)
    const today = `(now() AT TIME ZONE 'UTC')::date`
    expect(await copy(`'p-safe', ${today}, 7, amount`)).to.match(/payout_of_day/)
    expect(await attempt(`UPDATE hub.payout SET amount = 1 WHERE id = '${id}'`)).to.match(
      /permission denied/,
    )
    expect(await attempt(`UPDATE hub.payout SET state = 'started' WHERE id = '${id}'`)).to.match(
      /stays as it is|violates/,
    )
    expect(await attempt(`UPDATE hub.payout_part SET gross = gross + 1`)).to.match(/stays as it is/)
    expect(amount > 0n).to.equal(true)
  })

  it('leave ledger and chain in agreement', async () => {
    const { pool, chain, stack, spend } = world
    await stack.rpc('anvil_mine')
    const wallets = { treasury: stack.payTo, spend }
    const runs = await reconcile({ pool, chain, finality: 1n, wallets }, { skewSeconds: 0 })
    const reasons = runs.flatMap(({ exceptions }) => exceptions.map(({ reason }) => reason))
    expect(reasons).to.deep.equal([])
    expect(runs[1]!.chain).to.equal(runs[1]!.ledger)
  })

  it('that a restored backup has lost are found on the chain and not made again', async () => {
    const [same, other] = [await world.provider('p-same'), await world.provider('p-other')]
    for (const { accounts } of [same, other]) await world.earn(accounts[0]!, USD)
    await pay()
    const forgotten = `batch = batch - 1, nonce = '0x' || md5(provider) || md5(id::text)`
    await change(forgotten, `provider IN ('p-same', 'p-other')`)
    await world.earn(same.accounts[0]!, USD)
    await world.earn(other.accounts[0]!, 2n * USD)
    await pay()
    const states = async (provider: Provider) =>
      (await payoutsOf(provider)).map(({ state, amount }) => [state, amount])
    expect(await states(same)).to.deep.equal([
      ['confirmed', USD],
      ['confirmed', USD],
    ])
    expect(await states(other)).to.deep.equal([
      ['confirmed', USD],
      ['failed', 2n * USD],
    ])
    expect([await held(same), await held(other)]).to.deep.equal([USD, USD])
    expect(await owed(other)).to.equal(2n * USD)
    const outgoing = await new OutgoingSwitch(world.pool).state()
    expect(outgoing, 'until somebody has looked').to.include({ paused: true })
    expect(outgoing?.author).to.equal('pay-providers')
  })
})
