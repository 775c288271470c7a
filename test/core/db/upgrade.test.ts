import { expect } from 'chai'
import { readConfig } from '../../../core/config.ts'
import { openLogins } from '../../../core/db/logins.ts'
import { migrate } from '../../../core/db/migrate.ts'
import { migrationKind } from '../../../core/db/migration-kind.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { migrateCommand } from '../../../server/commands/migrate/index.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { order, sampleLedger } from '../ledger/fixture.ts'
import { migrationsBefore } from './migrations-before.ts'

/** Upgrades are supported from the state before it (core/README.md). */
const OLDEST = '0035'

describe('an upgrade from the oldest supported state', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase(undefined, { empty: true })
    await using folder = await migrationsBefore(OLDEST)
    await migrate(database.url, { folder: folder.path })
  })
  after(() => database.drop())

  async function command(...args: string[]): Promise<readonly [number, string]> {
    let output = ''
    const write = (text: string) => (output += text)
    const config = readConfig({ DATABASE_URL: database.url })
    const code = await migrateCommand({ config, plugins: [], write }, args)
    return [code, output]
  }
  const balances = async (): Promise<unknown> => {
    const sql =
      'SELECT account, shard, balance FROM ledger.balance WHERE balance <> 0 ORDER BY 1, 2'
    return (await database.admin.query(sql)).rows
  }

  it('is planned, keeps every balance, and continues with sound entries', async () => {
    const { ledger, owner, payee } = await sampleLedger(database.admin)
    const earlier = await balances()
    const [planned, plan] = await command('plan')
    expect(planned).to.equal(0)
    expect(plan)
      .to.match(/^contract  0035_.*\.sql$/m)
      .and.match(/^expand    0079_backups\.sql$/m)
    expect(plan).to.match(/Stop all servers of the previous version first/)
    expect(await balances(), 'after the plan').to.deep.equal(earlier)
    expect(await command('status')).to.deep.equal([
      1,
      `applied  34, the newest 0034_claims_of_calls.sql\npending  ${plan.split('\n').length - 2}\n`,
    ])
    await migrate(database.url)
    expect(await balances()).to.deep.equal(earlier)
    const call = order(owner, payee, 500n)
    await ledger.reserve(call)
    await ledger.settle(call, 400n)
    const { checks } = await verifyLedger(database.pool)
    expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
    expect((await command('status'))[0]).to.equal(0)
    expect((await command('plan'))[1]).to.equal('Nothing is pending.\n')
  })

  it('is refused in one sentence to a login that does not own the database', async () => {
    const { url } = await openLogins({ url: database.url })
    expect(url).not.to.equal(database.url)
    const config = readConfig({ DATABASE_URL: url })
    for (const name of ['plan', 'status', 'apply']) {
      const migration = migrateCommand({ config, plugins: [], write: () => {} }, [name])
      const { message } = (await migration.catch((error: Error) => error)) as Error
      expect(message, name).to.match(
        /^This login does not own the database: set DATABASE_OWNER_URL/,
      )
    }
  })

  it('is refused if the database is newer than this version', async () => {
    const newer = `INSERT INTO hub.migration (number, name, sha256)
      SELECT max(number) + 1, '9999_from_the_future.sql', 'x' FROM hub.migration`
    await database.admin.query(newer)
    const { message } = await command('plan').then(
      () => new Error('accepted'),
      (error: Error) => error,
    )
    expect(message).to.match(/^The database is at migration 9999_from_the_future.sql, and this/)
  })
})

describe('the header of a migration', () => {
  it('says that servers of the previous version may go on, or counts as if they must stop', () => {
    expect(migrationKind('-- Why.\n-- upgrade: expand\nCREATE TABLE a ();')).to.equal('expand')
    expect(migrationKind('-- Why.\n-- upgrade: contract\nDROP TABLE a;')).to.equal('contract')
    expect(migrationKind('DROP TABLE a;')).to.equal('contract')
  })
})
