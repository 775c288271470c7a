import { expect } from 'chai'
import type { Account } from '../../../core/ledger/events.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { micros, newId, openAgent } from './fixture.ts'

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
    const ledger = new Ledger(database.pool, { shards: 2 })
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
