import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { elapsedMs } from '../../../core/clock.ts'
import { assertMigrated, migrate } from '../../../core/db/migrate.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('migrate', () => {
  let database: FreshDatabase
  let folder: string

  beforeEach(async () => {
    database = await freshDatabase(undefined, { empty: true })
    folder = await mkdtemp(join(tmpdir(), 'agenthub-migrations-'))
    await file('0001_one.sql', 'CREATE TABLE public.one (n integer);')
    await file('0002_two.sql', "INSERT INTO one VALUES (1);\nSELECT pg_sleep(0.05), 'ä';\n")
  })
  afterEach(async () => {
    await database.drop()
    await rm(folder, { recursive: true })
  })

  const file = (name: string, sql: string): Promise<void> => writeFile(join(folder, name), sql)
  const run = (options = {}): Promise<string[]> => migrate(database.url, { folder, ...options })
  const failure = async (options = {}): Promise<string> => {
    const applied = await run(options).catch((error: Error) => error.message)
    expect(applied).to.be.a('string', 'it did not fail')
    return String(applied)
  }
  const count = async (table: string): Promise<unknown> =>
    (await database.admin.query(`SELECT count(*) AS count FROM ${table}`)).rows[0]?.count

  it('applies new files once and records them', async () => {
    expect(await run()).to.deep.equal(['0001_one.sql', '0002_two.sql'])
    expect(await run()).to.deep.equal([])
    await file('0003_three.sql', 'INSERT INTO one VALUES (2)')
    expect(await run()).to.deep.equal(['0003_three.sql'])
    expect(await count('one')).to.equal(2n)
    const { rows } = await database.admin.query('SELECT number, name FROM hub.migration ORDER BY 1')
    expect(rows[2]).to.deep.equal({ number: 3, name: '0003_three.sql' })
  })

  it('applies each file once when ten instances start at once', async () => {
    const applied = await Promise.all(Array.from({ length: 10 }, () => run()))
    expect(applied.flat().sort()).to.deep.equal(['0001_one.sql', '0002_two.sql'])
    expect(await count('one')).to.equal(1n)
  })

  it('reports an unreachable database without its password', async () => {
    const refused = migrate('postgres://hub:secret@127.0.0.1:1/hub').catch((error: Error) => error)
    const { name, message } = (await refused) as Error
    expect([name, message]).to.deep.equal([
      'ConfigError',
      'The database cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
    ])
  })

  it('names the login that the database refuses, without its password', async () => {
    const url = new URL(database.url)
    url.username = 'nobody'
    url.password = 'secret'
    const { message } = (await migrate(url.href).catch((error: Error) => error)) as Error
    expect(message).to.match(/^The database cannot be reached: .* \(login nobody at \S+:\d+\)$/)
    expect(message).not.to.include('secret')
  })

  it('waits at most waitMs for another instance', async () => {
    const other = await database.admin.connect()
    await other.query('SELECT pg_advisory_lock(8402001)')
    const start = elapsedMs()
    expect(await failure({ waitMs: 200 })).to.match(/^Another instance has been migrating .* 0.2 s/)
    expect(elapsedMs() - start).to.be.at.least(150)
    other.release(true)
  })

  it('waits at most lockMs for a table lock', async () => {
    await run()
    const other = await database.admin.connect()
    await other.query('BEGIN; LOCK TABLE one')
    await file('0003_three.sql', 'ALTER TABLE one ADD m integer')
    expect(await failure({ lockMs: 100 })).to.equal(
      'Migration 0003_three.sql failed: canceling statement due to lock timeout',
    )
    other.release(true)
  })

  it('refuses a changed file', async () => {
    await run()
    await file('0001_one.sql', 'CREATE TABLE public.one (n bigint);')
    await file('0003_three.sql', 'INSERT INTO one VALUES (2)')
    expect(await failure()).to.match(
      /^Migration 0001_one.sql has changed .* Start the version of the hub that applied it/,
    )
    expect(await count('one')).to.equal(1n)
  })

  it('ignores different line ends', async () => {
    await run()
    await file('0002_two.sql', "INSERT INTO one VALUES (1);\r\nSELECT pg_sleep(0.05), 'ä';\r\n")
    expect(await run()).to.deep.equal([])
  })

  for (const name of ['0004_four.sql', '0002_again.sql', 'three.sql']) {
    it(`refuses a gap, a number used twice and a file without one: ${name}`, async () => {
      await file(name, 'SELECT 1')
      expect(await failure()).to.include('….sql is expected')
    })
  }

  it('refuses a database newer than its files', async () => {
    await run()
    await rm(join(folder, '0002_two.sql'))
    expect(await failure()).to.match(
      /is at migration 0002_two.sql, .* knows only 1. Start the newer/,
    )
  })

  it('runs on a database that newer versions have only expanded', async () => {
    await file('0003_three.sql', '-- upgrade: expand\nCREATE TABLE three ();')
    await file('0004_four.sql', '-- upgrade: expand\nCREATE TABLE four ();')
    await run()
    await rm(join(folder, '0004_four.sql'))
    await rm(join(folder, '0003_three.sql'))
    expect(await run()).to.deep.equal([])
    await assertMigrated(database.url, { folder, role: 'postgres' })
    await file('0003_three.sql', '-- upgrade: expand\nCREATE TABLE other ();')
    expect(await failure()).to.include('0003_three.sql has changed')
  })

  it('reads the list of a database without the kinds of its migrations', async () => {
    await run()
    await database.admin.query('ALTER TABLE hub.migration DROP kind')
    await assertMigrated(database.url, { folder, role: 'postgres' })
    expect(await run()).to.deep.equal([])
  })

  it('rolls back a failing file, and names its line', async () => {
    await file('0003_three.sql', 'INSERT INTO one VALUES (2);\n\nSELECT nothing;')
    expect(await failure()).to.equal(
      'Migration 0003_three.sql line 3 failed: column "nothing" does not exist',
    )
    expect(await count('one')).to.equal(1n)
    expect(await count('hub.migration')).to.equal(2n)
  })

  it('refuses a file that ends its own transaction', async () => {
    await file('0003_three.sql', 'COMMIT')
    expect(await failure()).to.equal('Migration 0003_three.sql failed: it ends its own transaction')
  })
})
