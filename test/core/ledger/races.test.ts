import { expect } from 'chai'
import * as fc from 'fast-check'
import type { Pool } from 'pg'
import { systemClock } from '../../../core/clock.ts'
import { type AccountRef, Ledger, type ReserveOrder } from '../../../core/ledger/ledger.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { micros, newId, openAgent, openProvider, order, untilDeadline } from './fixture.ts'

const seed = systemClock.now().getTime() % 2 ** 31
const RUNS = 60

/** Operation of one process on one of a few calls, and if its response arrives. */
const step = fc.record({
  process: fc.nat(2),
  call: fc.nat(2),
  do: fc.constantFrom('reserve', 'settle', 'settle less', 'release', 'expire', 'reverse'),
  lost: fc.constantFrom(false, false, false, true),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/**
 * fast-check decides the order in which statements of three processes reach the database, and which
 * responses are lost. Every order must end in a sound ledger that agrees with the responses.
 */
describe('races for the same calls', () => {
  let database: FreshDatabase
  let payee: AccountRef

  before(async () => {
    database = await freshDatabase()
    payee = await openProvider(new Ledger(database.pool), 'racer')
  })
  after(() => database.drop())

  /** Pool of one process: each statement waits for its turn, and may lose its response. */
  function inTurn(scheduler: fc.Scheduler, losses: boolean[]): Pool {
    const ask = database.pool.query.bind(database.pool) as (...args: unknown[]) => Promise<unknown>
    const inOrder = scheduler.scheduleFunction(async (...args: unknown[]) =>
      ask(...args).then(
        (answer) => ({ answer }),
        (error: Error) => ({ error }), // the scheduler would leave it unhandled
      ),
    )
    const query = async (...args: unknown[]): Promise<unknown> => {
      const [text] = args as [string | { text: string }]
      const writes = /ledger\.(apply|post)\(/.test(typeof text === 'string' ? text : text.text)
      const result = await inOrder(...args)
      if ('error' in result) throw result.error
      if (!writes || losses.shift() !== true) return result.answer
      throw Object.assign(new Error('Connection terminated'), { code: 'ECONNRESET' })
    }
    return { query } as unknown as Pool
  }

  async function run(ledger: Ledger, call: ReserveOrder, what: Step['do']): Promise<string> {
    if (what === 'reserve') return (await ledger.reserve(call)).outcome
    if (what === 'settle') return (await ledger.settle(call, call.amount)).outcome
    if (what === 'settle less') return (await ledger.settle(call, 1n)).outcome
    if (what !== 'reverse') return (await ledger[what](call)).outcome
    const part = { refunded: micros(1n), commission: micros(0n), receivable: micros(0n) }
    const parties = { credits: call.owner.code, payee: payee.code }
    const meta = { author: 'a', reason: 'r' }
    return ledger.post(
      { type: 'call.reversed', ...parties, ...part },
      { owner: call.owner, id: call.call, meta },
    )
  }

  it(`end in one outcome per hold, in any order, with losses (seed ${seed})`, async () => {
    const story = fc.asyncProperty(
      fc.scheduler(),
      fc.array(step, { minLength: 4, maxLength: 14, size: 'max' }),
      untilDeadline(async (scheduler, steps) => {
        const setup = new Ledger(database.pool)
        const owner = await openAgent(setup, 25n)
        const calls = [0, 1, 2].map(() =>
          order(owner, payee, 10n, { call: newId(), ttlSeconds: 0 }),
        )
        const losses = steps.map(({ lost }) => lost)
        const processes = [0, 1, 2].map(() => new Ledger(inTurn(scheduler, losses)))
        const reported = await scheduler.waitFor(
          Promise.all(
            steps.map(async ({ process, call, do: what }) => {
              const outcome = await run(processes[process]!, calls[call]!, what)
              return { call, what, outcome }
            }),
          ),
        )
        await expectAgreement(owner, calls, reported)
      }),
    )
    await fc.assert(story, { numRuns: RUNS, seed })
    const { checks } = await verifyLedger(database.pool)
    expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
  })

  async function expectAgreement(
    owner: AccountRef,
    calls: readonly ReserveOrder[],
    reported: readonly { call: number; what: Step['do']; outcome: string }[],
  ): Promise<void> {
    const { rows } = await database.pool.query<{ id: string; what: string }>(
      `SELECT j.id, CASE WHEN j.kind = 2 AND j.amount = 1 THEN 'settle less' ELSE
         (ARRAY['reserve', 'settle', 'release', 'expire'])[j.kind] END AS what
       FROM ledger.journal j WHERE j.owner = $1 AND j.phase IN (1, 2)`,
      [owner.id],
    )
    for (const [i, { call }] of calls.entries()) {
      const booked = rows.filter(({ id }) => id === call).map(({ what }) => what)
      expect(booked.filter((what) => what !== 'reserve').length, 'outcomes').to.be.at.most(1)
      const reports = reported.filter((each) => each.call === i)
      for (const { what, outcome } of reports) {
        const done = outcome === 'applied' || outcome === 'replayed'
        if (done && what !== 'reverse') expect(booked, `said ${what} ${outcome}`).to.include(what)
      }
      for (const what of ['reserve', 'settle', 'settle less', 'release', 'expire'] as const) {
        const applied = reports.filter((each) => each.what === what && each.outcome === 'applied')
        expect(applied.length, `${what} applied`).to.be.at.most(1)
        const isReported = reports.some((each) => each.what === what)
        if (!isReported) expect(booked).to.not.include(what)
      }
    }
  }
})
