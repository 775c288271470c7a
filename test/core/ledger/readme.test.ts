import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { EVENTS_BLOCK, eventsTable } from '../../support/readme-events.ts'

const README = join(import.meta.dirname, '../../../core/README.md')

/** Keeps the auditor's document in step with the database. */
describe("the auditor's document", () => {
  let database: FreshDatabase
  let text: string

  before(async () => {
    database = await freshDatabase()
    text = await readFile(README, 'utf8')
  })
  after(() => database.drop())

  it('has the table of events from the database (npm run db:dump updates it)', async () => {
    expect(EVENTS_BLOCK.exec(text)?.[0]).to.equal(await eventsTable(database.pool))
  })

  it('lists every platform account', async () => {
    const { rows } = await database.pool.query<{ code: string }>(
      'SELECT code FROM ledger.account WHERE id < 1000 ORDER BY id',
    )
    const missing = rows.map(({ code }) => code).filter((code) => !text.includes(`\`${code}\``))
    expect(missing).to.deep.equal([])
  })

  it('agrees with the code and the database on the kinds of events', async () => {
    const { rows } = await database.pool.query<{ event: string }>('SELECT event FROM ledger.kind')
    const source = await readFile(
      join(import.meta.dirname, '../../../core/ledger/events.ts'),
      'utf8',
    )
    const types = [...source.matchAll(/readonly type: '([a-z.-]+)'/g)].map(([, type]) => type)
    expect(rows.map(({ event }) => event)).to.have.members(types)
  })
})
