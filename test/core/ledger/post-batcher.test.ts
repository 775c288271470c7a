import { expect } from 'chai'
import type { Pool } from 'pg'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import type { Account } from '../../../core/ledger/events.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { PostBatcher, type PreparedEntry } from '../../../core/ledger/post-batcher.ts'
import { LedgerUnavailable } from '../../../core/ledger/retry.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { micros, newId, openAgent } from './fixture.ts'

/** Database that fails after `ms`. */
const failing = (ms: number): Pool => {
  const query = async () => {
    await sleep(ms)
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  }
  return { query } as unknown as Pool
}

const entry = (): PreparedEntry => ({
  owner: 1n,
  id: newId(),
  event: 'credits.purchased',
  accounts: [1n, 2n],
  amounts: [-1n, 1n],
  effectiveAt: undefined,
  meta: undefined,
})

const isUnavailable = (result: PromiseSettledResult<unknown>): boolean =>
  result.status === 'rejected' && result.reason instanceof LedgerUnavailable

describe('entries posted while the database is unreachable', () => {
  it('fail in time, however many wait before them', async () => {
    const TRY_MS = 100
    const RETRY_FOR_MS = 300
    const batcher = new PostBatcher(failing(TRY_MS), 0, RETRY_FOR_MS)
    const start = elapsedMs()
    const posted = await Promise.allSettled(
      Array.from({ length: 1_000 }, () => batcher.post(entry())),
    )
    expect(posted.every(isUnavailable)).to.equal(true)
    expect(elapsedMs() - start).to.be.within(RETRY_FOR_MS, 2 * RETRY_FOR_MS + TRY_MS)
  })

  it('fail at once if too many wait', async () => {
    const batcher = new PostBatcher(failing(0), 0, 0)
    const posted = Array.from({ length: 10_001 }, () => batcher.post(entry()))
    const first = await Promise.race(
      posted.map((each, i) => each.catch((error: unknown) => ({ i, message: String(error) }))),
    )
    expect(first).to.deep.equal({
      i: 10_000,
      message: 'LedgerUnavailable: too many entries are waiting',
    })
    expect((await Promise.allSettled(posted)).every(isUnavailable)).to.equal(true)
  })
})

describe('entries posted at the same time', () => {
  let database: FreshDatabase

  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(() => database.drop())

  const purchase = (credits: Account, amount = 5n) =>
    ({ type: 'credits.purchased', credits, amount: micros(amount) }) as const

  it('share transactions, each with its own outcome', async () => {
    const ledger = new Ledger(database.pool)
    const owner = await openAgent(ledger, 5n)
    const id = newId()
    const ids = [...Array.from({ length: 60 }, newId), id, id]
    const meta = { transaction: `0x${'9'.repeat(64)}`, amount: 2 ** 60 }
    const outcomes = await Promise.all(
      ids.map((each) => ledger.post(purchase(owner.code), { owner, id: each, meta })),
    )
    const reuse = await ledger.post(purchase(owner.code, 6n), { owner, id })
    expect(outcomes).to.deep.equal([...Array.from({ length: 61 }, () => 'applied'), 'replayed'])
    expect(reuse).to.equal('id_reused_with_other_terms')
    expect(await ledger.balance(owner.code)).to.equal(62n * 5n)
    const { rows } = await database.admin.query(
      `SELECT count(DISTINCT j.xmin::text)::integer AS transactions, count(*)::integer AS entries,
         bool_and(j.meta = $1) AS "haveMeta" FROM ledger.journal j
       WHERE j.owner = $2 AND j.meta IS NOT NULL`,
      [meta, owner.id],
    )
    expect(rows).to.deep.equal([{ transactions: 2, entries: 61, haveMeta: true }])
  })

  it('fail alone if the database rejects them', async () => {
    const ledger = new Ledger(database.pool)
    const owner = await openAgent(ledger, 0n)
    const elsewhere = await ledger.open('liabilities:agents:far:credits', 'USDC', { home: 1 })
    const posted = await Promise.allSettled(
      [owner, owner, elsewhere, owner, owner].map(({ code }) =>
        ledger.post(purchase(code), { owner, id: newId() }),
      ),
    )
    expect(posted.map(({ status }) => status)).to.deep.equal([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect(String((posted[2] as PromiseRejectedResult).reason)).to.match(/no balance on shard 0/)
    expect(await ledger.balance(owner.code)).to.equal(20n)
    expect(await ledger.balance(elsewhere.code)).to.equal(0n)
  })
})
