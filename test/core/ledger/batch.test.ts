import { expect } from 'chai'
import type { Pool } from 'pg'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { Batcher, LedgerUnavailable, type Operation, STEP } from '../../../core/ledger/batch.ts'
import { newId } from './world.ts'

const TRY_MS = 200
const RETRY_FOR_MS = 400

/** A database that takes its time to say that it is not there. */
const unreachable = {
  query: async () => {
    await sleep(TRY_MS)
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  },
} as unknown as Pool

const operation = (): Operation => ({
  step: STEP.release,
  owner: 1n,
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
  it('gives up by the clock, not by the number of its tries', async () => {
    const start = elapsedMs()
    const error = await new Batcher(unreachable, 0, { retryForMs: RETRY_FOR_MS })
      .submit(operation())
      .catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(LedgerUnavailable)
    const tries = Math.ceil(RETRY_FOR_MS / TRY_MS) + 1
    expect(elapsedMs() - start).to.be.within(RETRY_FOR_MS, tries * (TRY_MS + 100))
  })
})
