import { expect } from 'chai'
import type { Pool, QueryConfig } from 'pg'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { Batcher, type Operation, STEP } from '../../../core/ledger/batch.ts'
import { LedgerUnavailable } from '../../../core/ledger/retry.ts'
import { eventually } from '../../support/eventually.ts'
import { newId } from './fixture.ts'

const TRY_MS = 200
const RETRY_FOR_MS = 400

/** Unreachable database whose connections fail slowly, with a counter of attempts. */
function unreachable(): { pool: Pool; tries: () => number } {
  let tries = 0
  const query = async () => {
    tries++
    await sleep(TRY_MS)
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  }
  return { pool: { query } as unknown as Pool, tries: () => tries }
}

/** Database that applies every operation and records the owners of each batch. */
function recorder(): { pool: Pool; batches: bigint[][] } {
  const batches: bigint[][] = []
  const query = async ({ values }: QueryConfig<unknown[]>) => {
    const owners = String(values![2]).slice(1, -1).split(',')
    batches.push(owners.map(BigInt))
    return { rows: [{ outcomes: '1'.repeat(owners.length), owners: null, balances: null }] }
  }
  return { pool: { query } as unknown as Pool, batches }
}

const operation = (owner = 1n): Operation => ({
  step: STEP.release,
  owner,
  id: newId(),
  amount: 0n,
  asset: 1,
  payee: 2n,
  bps: 0,
  ttlSeconds: 60,
  endpoint: 0,
  priceVersion: 0,
  guards: [],
})

describe('a batch without a database', () => {
  it('gives up after a time, not after a number of attempts', async () => {
    const { pool, tries } = unreachable()
    const start = elapsedMs()
    const error = await new Batcher(pool, 0, { retryForMs: RETRY_FOR_MS })
      .submit(operation())
      .catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(LedgerUnavailable)
    expect(elapsedMs() - start).to.be.at.least(RETRY_FOR_MS)
    expect(tries(), 'each takes its time').to.be.within(1, Math.ceil(RETRY_FOR_MS / TRY_MS) + 1)
  })
})

describe('a reserve that the database does not apply in time', () => {
  it('fails after three seconds at most, and is released if it took effect', async () => {
    const applied = Promise.withResolvers<void>()
    const steps: string[] = []
    const query = async ({ values }: { values: readonly unknown[] }) => {
      steps.push(String(values[1]))
      await applied.promise
      const outcomes = '1'.repeat(String(values[1]).split(',').length)
      return { rows: [{ outcomes, owners: null, balances: null }] }
    }
    const batcher = new Batcher({ query } as unknown as Pool, 0)
    const start = elapsedMs()
    const reserve = { ...operation(), step: STEP.reserve, amount: 5n }
    const waiting = batcher.submit(reserve).catch((reason: unknown) => reason)
    await eventually(() => steps.length === 1)
    const queued = batcher.submit({ ...reserve, id: newId() }).catch((reason: unknown) => reason)
    const settled = batcher.submit({ ...operation(), step: STEP.settle, amount: 5n })
    expect(await waiting).to.be.instanceOf(LedgerUnavailable)
    expect(await queued).to.be.instanceOf(LedgerUnavailable)
    expect(elapsedMs() - start).to.be.at.least(2_000)
    applied.resolve()
    expect(await settled, 'a charge waits longer').to.have.property('outcome', 'applied')
    const release = `{${STEP.settle},${STEP.release}}`
    expect(steps, 'the queued one is not applied').to.deep.equal([`{${STEP.reserve}}`, release])
  })
})

describe('a batch that follows one of several operations', () => {
  it('has the operations of the callers that its results resumed', async () => {
    const { pool, batches } = recorder()
    const batcher = new Batcher(pool, 0, { batchMax: 2 })
    const [first, ...others] = [1n, 2n, 3n].map((owner) => batcher.submit(operation(owner)))
    await first
    for (let promise = 0; promise < 10; promise++) await Promise.resolve() // as callers do in turn
    await Promise.all([...others, batcher.submit(operation(4n))])
    expect(batches).to.deep.equal([
      [1n, 2n],
      [3n, 4n],
    ])
  })
})

describe('a flood on one account', () => {
  const FLOOD = 20_000
  const POLITE = 2n

  it('delays other accounts by one batch only', async () => {
    const { pool, batches } = recorder()
    const batcher = new Batcher(pool, 0)
    const flood = Array.from({ length: FLOOD }, () => batcher.submit(operation()))
    await flood[0]
    const before = batches.length
    await batcher.submit(operation(POLITE))
    const seen = batches.findIndex((owners) => owners.includes(POLITE))
    expect(seen - before).to.be.at.most(1)
    await Promise.all(flood)
    expect(batches.length).to.equal(FLOOD / 1_000 + 1)
  })

  it('is bounded for its sender and nobody else', async () => {
    const batcher = new Batcher(recorder().pool, 0)
    const flood = Array.from({ length: FLOOD + 1 }, () => batcher.submit(operation()))
    const polite = batcher.submit(operation(POLITE))
    const [excess] = await Promise.allSettled(flood.slice(-1))
    expect(excess).to.have.property('reason').that.is.instanceOf(LedgerUnavailable)
    expect((await polite).outcome).to.equal('applied')
    const rest = await Promise.all(flood.slice(0, -1))
    expect(rest.every(({ outcome }) => outcome === 'applied')).to.equal(true)
  })
})
