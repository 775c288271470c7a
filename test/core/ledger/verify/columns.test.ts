import { expect } from 'chai'
import { verifySince } from '../../../../core/ledger/verify/incremental.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { sampleLedger } from '../fixture.ts'
import { broken, tamper } from './tampering.ts'

/** SQL for a different value of each type. */
const OTHER: Readonly<Record<string, (column: string) => string>> = {
  uuid: (c) => `overlay(${c}::text PLACING CASE right(${c}::text, 1) WHEN '0' THEN '1' ELSE '0' END
    FROM 36)::uuid`,
  bigint: (c) => `${c} + 1`,
  integer: (c) => `${c} + 1`,
  smallint: (c) => `${c} + 1`,
  'bigint[]': (c) => `coalesce(${c}, '{}') || 7::bigint`,
  'timestamp with time zone': (c) =>
    `coalesce(${c}, at) ${c === 'at' ? '+' : '-'} interval '1 microsecond'`,
  jsonb: (c) => `coalesce(${c}, '{}') || '{"a": 1}'`,
  bytea: (c) => `set_byte(${c}, 31, 255 - get_byte(${c}, 31))`,
}
const LEAF = 'every row is as it was written'

/** Changes the rows of a call and of a single-step entry with triggers disabled. */
describe('a changed column of the journal', () => {
  let database: FreshDatabase
  let columns: { name: string; type: string }[]

  before(async () => {
    database = await freshDatabase()
    await sampleLedger(database.pool)
    await database.admin.query(`CREATE TABLE original AS TABLE ledger.journal;
      ALTER TABLE ledger.journal DROP CONSTRAINT journal_step, DROP CONSTRAINT journal_amounts`)
    const { rows } = await database.admin.query<{ name: string; type: string }>(
      `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
       WHERE attrelid = 'ledger.journal'::regclass AND attnum > 0 AND NOT attisdropped`,
    )
    columns = rows
  })
  after(() => database.drop())

  for (const seq of [1, 12]) {
    it(`is detected and reported, whichever it is: row ${seq}`, async () => {
      expect(columns.length).to.be.at.least(22)
      const { rows: places } = await database.admin.query<{ table: string }>(
        'SELECT tableoid::regclass::text AS table FROM ledger.journal WHERE seq = $1',
        [seq],
      )
      const partition = places[0]!.table
      for (const { name, type } of columns) {
        const change = `UPDATE ${partition} SET ${name} = ${OTHER[type]!(name)} WHERE seq = ${seq}`
        await tamper(database, change)
        const { rows } = await database.admin.query<{ name: string; shard: number }>(
          `SELECT format('shard %s seq %s id %s', j.shard, j.seq, j.id) AS name, j.shard
           FROM ledger.journal j LEFT JOIN original k ON k = j WHERE k.id IS NULL`,
        )
        const [changed] = rows
        expect(broken(await verifyLedger(database.pool))[LEAF], name).to.equal(changed!.name)
        const part = broken(await verifySince(database.pool))
        if (changed!.shard === 0) expect(part[LEAF], name).to.equal(changed!.name)
        else expect(Object.values(part)).to.include(`shard 0 seq ${seq} is missing`)
        await tamper(
          database,
          'DELETE FROM ledger.journal j WHERE NOT EXISTS (SELECT FROM original k WHERE k = j)',
          `INSERT INTO ledger.journal SELECT * FROM original WHERE seq = ${seq}`,
        )
      }
      expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
    })
  }
})
