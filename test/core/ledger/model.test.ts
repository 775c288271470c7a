import { expect } from 'chai'
import * as fc from 'fast-check'
import { systemClock } from '../../../core/clock.ts'
import { createPool } from '../../../core/db/pool.ts'
import type { Account, LedgerOutcome } from '../../../core/ledger/events.ts'
import { exportLedger } from '../../../core/ledger/export/writer.ts'
import { type AccountRef, Ledger } from '../../../core/ledger/ledger.ts'
import { totalsByAsset, trialBalance } from '../../../core/ledger/trial-balance.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { changes } from './changes.ts'
import {
  batches,
  type CommandAccounts,
  command,
  openCommandAccounts,
  toCommands,
} from './commands.ts'
import { DEBTOR, eventSamples, fundAssets, PRICE } from './event-samples.ts'
import { micros, newId, order, untilDeadline } from './fixture.ts'
import { type Command, executionOrder, Model } from './model.ts'

const OPERATIONS_MIN = 10_000
const seed = systemClock.now().getTime() % 2 ** 31

describe('the ledger compared with a model', () => {
  let database: FreshDatabase
  let ledger: Ledger
  let operations = 0

  before(async () => {
    database = await freshDatabase()
    ledger = new Ledger(database.pool)
  })
  afterEach('the ledger is sound', async () => {
    const { checks } = await verifyLedger(database.pool)
    expect(checks.filter(({ bad }) => bad !== 0n)).to.deep.equal([])
  })
  after(() => database.drop())

  const newModel = async (): Promise<Model> =>
    new Model((await trialBalance(database.pool)).map(({ account, balance }) => [account, balance]))

  async function execute(
    ledger: Ledger,
    world: CommandAccounts,
    command: Command,
  ): Promise<LedgerOutcome> {
    operations++
    const ref = (code: Account): AccountRef => world.refs.get(code)!
    const hold = { call: command.call, owner: ref(command.owner) }
    if (command.do === 'settle') return (await ledger.settle(hold, command.charged)).outcome
    if (command.do !== 'reserve') return (await ledger[command.do](hold)).outcome
    const { amount, payee, bps, guards, due } = command
    const result = await ledger.reserve({
      ...hold,
      amount,
      payee: ref(payee),
      commissionBps: Number(bps),
      ttlSeconds: due ? 0 : 3_600,
      guards: guards.map(ref),
    })
    return result.outcome
  }

  /** Checks that the ledger has the balances of the model. */
  async function expectSame(model: Model): Promise<void> {
    const rows = await trialBalance(database.pool)
    for (const [asset, sum] of totalsByAsset(rows)) expect(sum, asset).to.equal(0n)
    for (const { account, balance } of rows) {
      expect(balance, account).to.equal(model.balance(account))
      if (/^liabilities:(agents|free-calls|allowances):/.test(account)) {
        expect(balance >= 0n, account).to.equal(true)
      }
    }
  }

  /** Checks for each entry: postings(event) = rows of the view = legs of the journal row. */
  async function expectPostings(model: Model): Promise<void> {
    const { rows } = await database.pool.query<{ key: string; legs: [string, string][] }>(
      `SELECT l.key, jsonb_agg(jsonb_build_array(l.account, l.amount::text)) AS legs FROM (
         SELECT format('%s %s %s', a.code, p.id, p.event) AS key, p.account, sum(p.amount) AS amount
         FROM ledger.posting p JOIN ledger.account a ON a.id = p.owner
         WHERE p.id = ANY ($1) GROUP BY 1, 2 HAVING sum(p.amount) <> 0) l GROUP BY l.key`,
      [model.events.map(({ id }) => id)],
    )
    const booked = new Map(rows.map(({ key, legs }) => [key, new Map(legs)]))
    for (const { id, owner, event } of model.events) {
      const key = `${owner} ${id} ${event.type}`
      const legs = [...changes(event)].map(([account, sum]) => [account, String(sum)] as const)
      const inBooks = [...(booked.get(key) ?? [])]
      expect(inBooks, key).to.have.deep.members(legs)
      booked.delete(key)
    }
    expect([...booked.keys()], 'entries that nobody asked for').to.deep.equal([])
  }

  it(`gives every batch the outcomes of sequential operations (seed ${seed})`, async () => {
    const property = fc.asyncProperty(
      batches(2, 5),
      untilDeadline(async (drafts) => {
        const world = await openCommandAccounts(ledger)
        const model = await newModel()
        const reserved = new Map<string, Command>()
        for (const batch of drafts) {
          const commands = toCommands(world, batch, reserved)
          const expected = new Map(
            executionOrder(commands.map((c, i) => ({ ...c, i }))).map((c) => [c.i, model.run(c)]),
          )
          const outcomes = await Promise.all(commands.map((c) => execute(ledger, world, c)))
          expect(outcomes).to.deep.equal(commands.map((_, i) => expected.get(i)))
        }
        await expectSame(model)
        await expectPostings(model)
      }),
    )
    await fc.assert(property, { numRuns: 30, seed })
  })

  it(`gives two instances the outcomes of the journal's order (seed ${seed})`, async () => {
    const otherPool = createPool(database.url, { role: 'hub_finance', max: 3 })
    const other = new Ledger(otherPool, { concurrency: 2 })
    const property = fc.asyncProperty(
      batches(2, 3),
      untilDeadline(async (drafts) => {
        const world = await openCommandAccounts(ledger)
        const model = await newModel()
        const all = toCommands(world, drafts.flat())
        const outcomes = await Promise.all(
          all.map((c, i) => execute(i % 2 === 0 ? ledger : other, world, c)),
        )
        const applied = all.filter((_, i) => outcomes[i] === 'applied')
        for (const { id, owner, phase, amount, kind } of await journalOf(world)) {
          const index = applied.findIndex((c) => {
            if (c.call !== id || c.owner !== owner) return false
            if (c.do === 'reserve') return phase === 1 && c.amount === amount
            return KINDS[c.do] === kind && (c.do !== 'settle' || c.charged === amount)
          })
          expect(index, `an outcome was reported for ${id} phase ${phase}`).to.not.equal(-1)
          const [command] = applied.splice(index, 1)
          expect(model.run(command!)).to.equal('applied')
        }
        expect(applied, 'reported without a journal entry').to.deep.equal([])
        await expectSame(model)
      }),
    )
    try {
      await fc.assert(property, { numRuns: 18, seed })
    } finally {
      await otherPool.end()
    }
  })

  async function journalOf(world: CommandAccounts) {
    const { rows } = await database.pool.query<{
      id: string
      owner: Account
      phase: number
      amount: bigint
      kind: number
    }>(
      `SELECT j.id, a.code AS owner, j.phase, j.amount, j.kind FROM ledger.journal j
       JOIN ledger.account a ON a.id = j.owner WHERE j.id = ANY ($1) ORDER BY j.seq`,
      [world.calls],
    )
    return rows
  }

  it('posts every single-step event as in its postings, and once', async () => {
    const world = await openCommandAccounts(ledger)
    const [owner, other, , free] = world.owners as [AccountRef, AccountRef, AccountRef, AccountRef]
    const [payee, sellers] = world.payees as [AccountRef, AccountRef]
    for (const earner of [payee, sellers]) {
      const paid = order(owner, earner, 50n, { commissionBps: 0 })
      await ledger.reserve(paid)
      await ledger.settle(paid, 50n) // provides earnings to pay out and a payment to confirm
    }
    await fundAssets(ledger)
    const parties = {
      credits: owner.code,
      other: other.code,
      free: free.code,
      earnings: payee.code,
    }
    const model = await newModel()
    for (const { event, legs } of eventSamples(parties)) {
      const meta = { author: 'finance', reason: 'a test', provider: DEBTOR, ...PRICE }
      const entry = { id: newId(), owner: event.type === 'units.granted' ? free : owner, meta }
      const expected = { id: entry.id, owner: entry.owner.code }
      for (const outcome of ['applied', 'replayed'] as const) {
        expect(await ledger.post(event, entry), event.type).to.equal(outcome)
        expect(model.post(event, expected, legs)).to.equal(outcome)
      }
      const twisted = { type: 'credits.granted', credits: owner.code, amount: micros(77n) } as const
      expect(await ledger.post(twisted, entry)).to.equal('id_reused_with_other_terms')
      await expectSame(model)
    }
    await expectPostings(model)
  })

  it('changes nothing when all operations are repeated', async () => {
    const world = await openCommandAccounts(ledger)
    const drafts = fc.sample(command, { numRuns: 60, seed })
    const commands = toCommands(world, drafts)
    for (const c of commands) await execute(ledger, world, c)
    const model = await newModel()
    const { rows: before } = await database.pool.query('SELECT seq, hash FROM ledger.head')
    const journal = await journalOf(world)
    for (const { id, owner, phase, amount, kind } of journal) {
      const hold = { call: id, owner: world.refs.get(owner)! }
      if (phase === 1) {
        const made = commands.find(
          (c) => c.call === id && c.do === 'reserve' && c.amount === amount,
        )
        expect(await execute(ledger, world, made!)).to.be.oneOf([
          'replayed',
          'id_reused_with_other_terms',
        ])
      } else if (kind === KINDS.settle) {
        expect((await ledger.settle(hold, amount)).outcome).to.equal('replayed')
        expect((await ledger.settle(hold, amount + 1n)).outcome).to.equal(
          'id_reused_with_other_terms',
        )
        expect((await ledger.release(hold)).outcome).to.equal('id_reused_with_other_terms')
      }
    }
    const { rows: after } = await database.pool.query('SELECT seq, hash FROM ledger.head')
    expect(after).to.deep.equal(before)
    await expectSame(model)
  })

  it('is exported with the legs of the database, for every kind of event', async () => {
    let text = ''
    for await (const chunk of exportLedger(database.pool, 'csv', { allAssets: true })) text += chunk
    const exported = text
      .split('\r\n')
      .slice(1, -1)
      .map((line) => {
        const [shard, seq, , , id, event, account, asset, debit = '', credit = ''] = line.split(',')
        const amount = BigInt((debit || credit).replace('.', '')) * (debit ? -1n : 1n)
        return [shard, seq, id, event, account, asset, amount].join()
      })
    const { rows } = await database.pool.query<{ line: string; event: string }>(
      `SELECT concat_ws(',', shard, seq, id, event, account, replace(asset, 'GWEI', 'ETH'),
         amount) AS line, event
       FROM ledger.posting ORDER BY shard, seq, n`,
    )
    expect(exported).to.deep.equal(rows.map(({ line }) => line))
    const kinds = await database.pool.query('SELECT event FROM ledger.kind')
    const missing = new Set(kinds.rows.map(({ event }) => event as string))
    for (const { event } of rows) missing.delete(event)
    // A closed month has no legs. Reversals: manual-entries.test.ts, refunds.test.ts and
    // vanished-payments.test.ts.
    const reversals = ['call.reversed', 'sale.reversed', 'receipt.vanished']
    expect([...missing]).to.have.members(['period.closed', ...reversals])
  })

  it(`executed at least ${OPERATIONS_MIN} operations`, () => {
    process.stdout.write(`      ${operations} operations\n`)
    expect(operations).to.be.at.least(OPERATIONS_MIN)
  })
})

const KINDS = { settle: 2, release: 3, expire: 4 } as const
