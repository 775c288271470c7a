import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Client } from 'pg'
import { PgBoss } from 'pg-boss'
import { assertLimited, type HubDatabase, openLogins, servingUrl } from '../../../core/db/logins.ts'
import { migrate } from '../../../core/db/migrate.ts'
import { createPool } from '../../../core/db/pool.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { ConfigError } from '../../../core/runtime/config-error.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const MIGRATIONS = join(import.meta.dirname, '../../../core/db/migrations')
type ConstructorOptions = { readonly options?: string; readonly createSchema?: boolean }
const ID = '01a19467-e800-7000-8000-000000000001'
const POST = `SELECT ledger.post(0::smallint, 3, '${ID}', 'balance.opened', '{3,13}', '{-5,5}')`

/** Statements that change the ledger, or gain the right to. */
const FORBIDDEN = [
  POST,
  `SELECT ledger.close_period('2026-01-01', 'nobody')`,
  `SELECT ledger.apply(0::smallint${', NULL'.repeat(13)})`,
  'UPDATE ledger.balance SET balance = 1000000',
  'INSERT INTO ledger.journal SELECT * FROM ledger.journal',
  'DELETE FROM ledger.journal',
  'TRUNCATE ledger.journal CASCADE',
  'ALTER TABLE ledger.journal DISABLE TRIGGER ALL',
  'CREATE TABLE ledger.mine (n integer)',
  'CREATE FUNCTION ledger.mine() RETURNS integer LANGUAGE sql RETURN 1',
  'CREATE OR REPLACE FUNCTION hub.keep_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN END $$',
  'CREATE TABLE hub.mine (n integer)',
  'CREATE TABLE public.mine (n integer)',
  'CREATE SCHEMA mine',
  'UPDATE hub.migration SET sha256 = sha256',
  'GRANT hub_finance TO CURRENT_USER',
  'ALTER ROLE CURRENT_USER SUPERUSER',
  'CREATE ROLE mine',
  'ALTER ROLE hub_finance LOGIN',
  "COPY (SELECT 1) TO PROGRAM 'true'",
  "SELECT pg_read_file('/etc/passwd')",
  'SELECT rolpassword FROM pg_authid',
  `SET session_replication_role = replica`,
]

describe('the upgrade from a version without logins', () => {
  it('continues the job queue, also of an owner that is no superuser', async () => {
    await (await freshDatabase()).drop() // creates the roles
    const fresh = await freshDatabase(undefined, { empty: true })
    const name = new URL(fresh.url).pathname.slice(1)
    await fresh.admin.query(`CREATE ROLE ${name}_owner LOGIN CREATEROLE PASSWORD 'a long password'`)
    await fresh.admin.query(
      `GRANT hub_app, hub_finance, hub_jobs TO ${name}_owner WITH ADMIN OPTION`,
    )
    await fresh.admin.query(`ALTER DATABASE ${name} OWNER TO ${name}_owner`)
    const owner = new URL(fresh.url)
    Object.assign(owner, { username: `${name}_owner`, password: 'a long password' })
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-migrations-'))
    const names = (await readdir(MIGRATIONS)).sort()
    const older = names.slice(
      0,
      names.findIndex((name) => name.endsWith('_two_people.sql')),
    )
    await Promise.all(older.map((name) => copyFile(join(MIGRATIONS, name), join(folder, name))))
    await migrate(owner.href, { folder })
    const start = async (url: string, options: ConstructorOptions): Promise<void> => {
      const boss = new PgBoss({ connectionString: url, max: 2, ...options })
      await boss.start()
      await boss.createQueue('older')
      await boss.send('older', {})
      await boss.stop({ graceful: false })
    }
    await start(owner.href, {})
    const old = createPool(owner.href)
    await old.query('SELECT')
    const refusal = await openLogins({ url: owner.href }).catch((error: Error) => error)
    expect(refusal).to.have.property('message').that.contains('processes of an older version')
    await old.end()
    await eventually(async () => {
      // The server ends a session shortly after its client has left.
      const { rowCount } = await fresh.admin.query(
        'SELECT FROM pg_stat_activity WHERE datname = $1 AND usename = $2',
        [name, `${name}_owner`],
      )
      return rowCount === 0
    })
    const { directUrl } = await openLogins({ url: owner.href })
    await start(directUrl, { options: '-c role=hub_jobs', createSchema: false })
    const { rows } = await fresh.admin.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c
       WHERE relnamespace = 'pgboss'::regnamespace AND relowner <> 'hub_jobs'::regrole
       UNION ALL SELECT p.oid::regprocedure::text FROM pg_proc p
       WHERE pronamespace = 'pgboss'::regnamespace AND proowner <> 'hub_jobs'::regrole
       UNION ALL SELECT t.oid::regtype::text FROM pg_type t
       WHERE typnamespace = 'pgboss'::regnamespace AND typowner <> 'hub_jobs'::regrole`,
    )
    expect(rows).to.deep.equal([])
    const jobs = await fresh.admin.query("SELECT FROM pgboss.job WHERE name = 'older'")
    expect(jobs.rowCount).to.equal(2)
    await rm(folder, { recursive: true })
    await fresh.drop()
  })
})

describe('the logins of a hub', () => {
  let fresh: FreshDatabase
  let database: HubDatabase
  before(async () => {
    fresh = await freshDatabase()
    await migrate(fresh.url, { folder: 'plugins/tenders/migrations', schema: 'plugin_tenders' })
    database = await openLogins({ url: fresh.url })
    await migrate(fresh.url, { folder: 'plugins/tenders/migrations', schema: 'plugin_tenders' })
  })
  after(() => fresh.drop())

  /** Runs statements on one connection, each whether or not those before it fail. */
  async function run(url: string, statements: readonly string[], role?: string) {
    const options = role === undefined ? {} : { options: `-c role=${role}` }
    const client = new Client({ connectionString: url, ...options })
    await client.connect()
    const results: { text: string; code: string | undefined; rows: object[] }[] = []
    for (const text of statements) {
      const { code, rows } = await client.query(text).then(
        (done) => ({ code: undefined, rows: done.rows as object[] }),
        (error: { code: string }) => ({ code: error.code, rows: [] }),
      )
      results.push({ text, code, rows })
    }
    await client.end()
    return results
  }

  it('are two, with names of the database and passwords that differ', () => {
    const [serving, finance] = [new URL(database.directUrl), new URL(database.financeUrl)]
    expect(serving.username).to.equal(`${serving.pathname.slice(1)}_serving`)
    expect(finance.username).to.equal(`${serving.pathname.slice(1)}_finance`)
    expect(
      new Set([serving.password, finance.password, new URL(fresh.url).password]).size,
    ).to.equal(3)
    expect(database).to.include({ pooled: false, ownerUrl: fresh.url, url: database.directUrl })
  })

  for (const way of [
    'SELECT 1',
    'RESET ROLE',
    'SET ROLE NONE',
    'RESET ALL',
    'DISCARD ALL',
    'SET ROLE postgres',
    'SET ROLE hub_finance',
    'SET ROLE hub_app',
    'SET ROLE hub_jobs',
    'SET ROLE plugin_tenders',
    'SET SESSION AUTHORIZATION postgres',
    'RESET SESSION AUTHORIZATION',
    "SELECT set_config('role', 'postgres', false)",
    "SELECT set_config('role', 'hub_finance', false)",
    "SELECT set_config('session_authorization', 'postgres', false)",
  ]) {
    it(`A193 of requests cannot change the ledger after ${way}`, async () => {
      const [, ...tried] = await run(database.url, [way, ...FORBIDDEN], 'hub_app')
      expect(tried.filter(({ code }) => code !== '42501')).to.deep.equal([])
    })
  }

  it('of requests cannot change the ledger through a function of the owner', async () => {
    const { rows } = await fresh.admin.query<{ name: string; source: string }>(
      `SELECT p.oid::regprocedure::text AS name, p.prosrc AS source FROM pg_proc p
       WHERE p.prosecdef AND (has_function_privilege('hub_app', p.oid, 'EXECUTE')
         OR has_function_privilege('hub_jobs', p.oid, 'EXECUTE'))`,
    )
    expect(rows.length).to.be.above(10)
    const writes = /\b(?:INTO|UPDATE|DELETE FROM) (?:ledger\.)?(?:journal|balance|seal|hold)\b/i
    const isPosting = ({ source }: { source: string }) =>
      /\bledger\.(?:post|apply)\s*\(/.test(source) || writes.test(source)
    // Opening an account or a shard adds balances of zero.
    const opening = /^ledger\.open_(?:account|shard)\(/
    const posting = rows.filter((row) => isPosting(row) && !opening.test(row.name))
    expect(posting.map(({ name }) => name)).to.deep.equal([])
  })

  it('of finance posts entries, and changes no table of the ledger by itself', async () => {
    const pool = createPool(database.financeUrl, { max: 2, role: 'hub_finance' })
    const ledger = new Ledger(pool)
    const owner = await ledger.account('assets:usdc:base:treasury')
    const event = { type: 'balance.opened', account: owner.code, amount: 5n } as const
    expect(await ledger.post(event, { owner, id: ID })).to.equal('applied')
    await pool.end()
    const direct = FORBIDDEN.filter((text) => !/ledger\.(?:post|apply|close_period)\(/.test(text))
    for (const way of ['SELECT 1', 'RESET ROLE', 'SET ROLE hub_app', 'SET ROLE postgres']) {
      const [, ...tried] = await run(database.financeUrl, [way, ...direct], 'hub_finance')
      expect(tried.filter(({ code }) => code !== '42501')).to.deep.equal([])
    }
  })

  it('take on the role of a plugin, which owns its own schema alone', async () => {
    const [who, own, foreign] = await run(
      database.directUrl,
      ['SELECT current_user AS name', 'SELECT FROM notice LIMIT 1', 'SELECT FROM hub.api_key'],
      'plugin_tenders -c search_path=plugin_tenders',
    )
    expect(who?.rows).to.deep.equal([{ name: 'plugin_tenders' }])
    expect(foreign?.code).to.equal('42501')
    expect(own?.code).not.to.equal('42501')
  })

  it('need no owner on a database that is ready, and refuse one that is not', async () => {
    const url = servingUrl(fresh.url)
    const again = await openLogins({ url })
    expect(again).to.deep.equal({ ...database, ownerUrl: undefined })
    const separate = await openLogins({ url, ownerUrl: fresh.url })
    expect(separate).to.deep.equal(database)
    const { rows } = await fresh.admin.query<{ row: object }>(
      `DELETE FROM hub.migration m WHERE number = (SELECT max(number) FROM hub.migration)
       RETURNING to_jsonb(m) AS row`,
    )
    const error = await openLogins({ url }).catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(ConfigError)
    expect((error as Error).message).to.match(
      /not ready .*migration .* is missing.*npm run migrate/,
    )
    await fresh.admin.query(
      'INSERT INTO hub.migration SELECT * FROM jsonb_populate_record(NULL::hub.migration, $1)',
      [rows[0]!.row],
    )
  })

  it('share that of an owner without a password, and are refused so for real money', async () => {
    const url = new URL(fresh.url)
    url.password = ''
    process.env['PGPASSWORD'] = new URL(fresh.url).password
    try {
      const shared = await openLogins({ url: url.href })
      expect(new Set(Object.values(shared))).to.deep.equal(new Set([url.href, false]))
      const refused = await openLogins({ url: url.href, mustSeparate: true }).catch((e: Error) => e)
      expect(refused).to.be.instanceOf(ConfigError)
    } finally {
      delete process.env['PGPASSWORD']
    }
  })

  it('A194 are refused if they can become the owner, with the statement that ends it', async () => {
    const refused = await assertLimited(fresh.url).catch((reason: unknown) => reason)
    expect(refused).to.be.instanceOf(ConfigError)
    expect((refused as Error).message).to.contain('use another login for DATABASE_URL')
    const name = new URL(database.url).username
    await fresh.admin.query(`GRANT pg_write_all_data TO "${name}"`)
    const message = await assertLimited(database.url).catch((reason: Error) => reason.message)
    expect(message).to.contain(`REVOKE "pg_write_all_data" FROM "${name}"`)
    await fresh.admin.query(`REVOKE pg_write_all_data FROM "${name}"`)
    await assertLimited(database.url)
  })
})
