import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { parseEntry } from '../../../core/hosting/entry.ts'
import {
  blocksSockets,
  examinePlugin,
  type HostedPlugin,
  hostPlugin,
} from '../../../core/hosting/host-plugin.ts'
import { createLog } from '../../../core/log.ts'
import type { AnyEndpoint, AnyService } from '../../../core/plugin/index.ts'
import { eventually } from '../../support/eventually.ts'
import { injectedHost } from '../../support/injected-host.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { rejectionMessage } from '../../support/rejection.ts'

const NOTES = fileURLToPath(new URL('./plugins/notes/index.ts', import.meta.url))
const node = process.env['HUB_PLUGIN_NODE'] ?? process.execPath
const settings = { memoryMb: 128, node, backOffMs: [0] }
const log = createLog('silent')
const passwordsOf = (role: string) => [`secret of ${role}`] as const

/** Statements that try to switch to another role. */
const ESCAPES = [
  'RESET ROLE',
  'SET ROLE NONE',
  'SET ROLE hub_app',
  'SET ROLE postgres',
  'RESET SESSION AUTHORIZATION',
  'SET SESSION AUTHORIZATION DEFAULT',
  'SET SESSION AUTHORIZATION postgres',
  `SELECT set_config('role', 'none', false)`,
  `SELECT set_config('session_authorization', 'postgres', false)`,
  `DO $$ BEGIN EXECUTE 'RESET ' || 'ROLE'; END $$`,
  'ALTER ROLE plugin_notes SUPERUSER',
  'GRANT hub_app TO plugin_notes',
  'CREATE ROLE another LOGIN',
]

/** Statements that access data of the hub or of another plugin. */
const FORBIDDEN = [
  'SELECT * FROM hub.api_key',
  'SELECT * FROM ledger.balance',
  'SELECT * FROM plugin_other.note',
  'CREATE TABLE public.mine (n integer)',
  'CREATE SCHEMA mine',
  `COPY (SELECT 1) TO PROGRAM 'true'`,
  `SELECT pg_read_file('/etc/passwd')`,
]

describe('the database of an isolated plugin', function () {
  let fresh: FreshDatabase
  before(async () => {
    fresh = await freshDatabase()
    await fresh.admin.query('CREATE SCHEMA plugin_other; CREATE TABLE plugin_other.note ()')
  })
  after(() => fresh.drop())
  const deps = () => ({ host: injectedHost, databaseUrl: fresh.url, log, passwordsOf })

  const isolated = (isolation: 'worker' | 'process'): void => {
    let hosted: HostedPlugin
    before(async function () {
      if (isolation === 'process' && !(await blocksSockets(node))) this.skip() // no Node 26
      await fresh.admin.query('DROP SCHEMA IF EXISTS plugin_notes CASCADE')
      hosted = await hostPlugin(
        parseEntry(`${NOTES}=${isolation}+database:notes`),
        deps(),
        settings,
      )
    })
    after(() => hosted?.close())

    const ask = (path: string, input: object) => {
      const { endpoints } = hosted.declaration as AnyService
      const { handle } = (endpoints as Record<string, AnyEndpoint>)[`POST /${path}`]!
      const signal = AbortSignal.timeout(20_000)
      const call = {
        id: '1',
        input,
        payer: 'x',
        terms: null,
        charge: () => {},
        meter: () => true,
        signal,
      }
      return Promise.resolve(handle(call)) as Promise<Record<string, unknown>>
    }
    const say = (text: string) => ask('say', { text })
    const together = (texts: readonly string[], ending: string) =>
      ask('together', { texts, ending })
    const found = async (words: string) => {
      const text = 'SELECT FROM plugin_notes.note WHERE words = $1'
      return (await fresh.admin.query(text, [words])).rowCount
    }

    it('stores rows in the schema created by its migrations', async () => {
      const words = Array.from({ length: 50 }, (_, n) => `word ${n}`)
      expect(await ask('keep', { words })).to.deep.equal({ n: 50 })
      const { rows } = await fresh.admin.query(
        `SELECT tableowner, (SELECT rolsuper FROM pg_roles WHERE rolname = tableowner) AS super
         FROM pg_tables WHERE schemaname = 'plugin_notes'`,
      )
      expect(rows.map(({ tableowner }) => tableowner)).to.deep.equal([
        'plugin_notes',
        'plugin_notes',
      ])
      expect(rows.every((row) => row['super'] === false)).to.equal(true)
    })

    it('preserves the types of values', async () => {
      const values = await ask('values', {})
      expect(values).to.deep.include({ bigint: true, date: true, bytes: true })
      expect(values['rest']).to.deep.equal({
        list: ['a', null, 'b"c'],
        json: { b: [1] },
        nothing: null,
        yes: true,
        f: 1.5,
        day: '2026-11-22',
        nan: true,
      })
    })

    it('reports errors with their SQLSTATE', async () => {
      await say(`INSERT INTO note VALUES ('twice')`)
      expect(await say(`INSERT INTO note VALUES ('twice')`)).to.include({
        code: '23505',
        constraint: 'note_pkey',
      })
    })

    it('cannot access data of the hub or of another plugin', async () => {
      for (const text of FORBIDDEN) expect((await say(text))['code'], text).to.equal('42501')
    })

    it('cannot switch to another role', async () => {
      const who = `SELECT current_user::text AS c, session_user::text AS s,
        has_schema_privilege('hub', 'usage') AS hub`
      for (const escape of ESCAPES) {
        await say(escape)
        // In the same connection, and in the next one.
        for (const result of [await say(`${escape}; ${who}`), await say(who)]) {
          if ('code' in result)
            expect(result['code'], escape).to.be.oneOf(['42501', '22023', '0LP01'])
          else {
            const rows = [{ c: 'plugin_notes', s: 'plugin_notes', hub: false }]
            expect(result['rows'], escape).to.deep.equal(rows)
          }
        }
      }
    })

    it('leaves no transaction, setting, lock or table in a connection', async () => {
      await say('BEGIN')
      await say(`SET statement_timeout = 0; SET search_path = 'x'; CREATE TEMP TABLE t (n int)`)
      await say('SELECT pg_advisory_lock(8402)')
      const left = await say(`SELECT current_setting('statement_timeout') AS timeout,
        current_schema()::text AS at, to_regclass('pg_temp.t')::text AS t`)
      expect(left['rows']).to.deep.equal([{ timeout: '30s', at: 'plugin_notes', t: null }])
      const locks = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 8402`
      await eventually(async () => (await fresh.admin.query(locks)).rowCount === 0)
    })

    it('commits a transaction as a whole or not at all', async () => {
      const insert = (words: string) => [`INSERT INTO note VALUES ('${words}')`]
      expect(await together(insert('whole'), 'commit')).to.deep.equal({ rows: [] })
      expect(await together(insert('thrown'), 'throw')).to.include({ message: 'as asked' })
      const swallowed = await together([...insert('swallowed'), 'SELECT 1 / 0'], 'swallow')
      expect(swallowed).to.include({ code: '25P02' })
      expect(await found('whole')).to.equal(1)
      for (const words of ['thrown', 'swallowed']) expect(await found(words), words).to.equal(0)
    })

    it('rolls back when the plugin exits, and serves later requests', async () => {
      const ends = Array.from({ length: 6 }, (_, n) =>
        rejectionMessage(together([`INSERT INTO note VALUES ('dead ${n}')`], 'exit')),
      )
      for (const outcome of await Promise.all(ends)) expect(outcome).to.match(/ended|failed|soon/)
      const open = `SELECT FROM pg_stat_activity
        WHERE usename = 'plugin_notes' AND state LIKE '%transaction%'`
      await eventually(async () => (await fresh.admin.query(open)).rowCount === 0)
      const more = Array.from({ length: 12 }, (_, n) => together([`SELECT ${n}`], 'commit'))
      for (const result of await Promise.all(more)) expect(result).to.deep.equal({ rows: [] })
      const dead = await fresh.admin.query(`SELECT FROM plugin_notes.note WHERE words LIKE 'dead%'`)
      expect(dead.rowCount).to.equal(0)
    })

    it('refuses results that are too large, in many rows or in one', async () => {
      for (const text of [
        `SELECT repeat('x', 100000000) AS x`,
        `SELECT repeat('x', 1000) AS x FROM generate_series(1, 1000000)`,
        `DO $$ BEGIN LOOP RAISE NOTICE '%', repeat('x', 10000); END LOOP; END $$`,
      ]) {
        expect(await say(text), text).to.include({ code: '54000' })
      }
      expect((await say('SELECT 1 AS n'))['rows']).to.deep.equal([{ n: 1 }])
    })
  }

  describe('in a worker', () => isolated('worker'))
  describe('in a process', () => isolated('process'))

  it('must be the one of the plugin', async () => {
    const entry = (more: string) => parseEntry(`${NOTES}=worker${more}`)
    expect(await rejectionMessage(hostPlugin(entry(''), deps(), settings))).to.include(
      '+database:notes',
    )
    expect(
      await rejectionMessage(hostPlugin(entry('+database:other'), deps(), settings)),
    ).to.include('+database:notes')
  })

  it('is not required to examine a plugin', async () => {
    const nowhere = { ...deps(), databaseUrl: '' }
    await examinePlugin(parseEntry(`${NOTES}=worker+database:notes`), nowhere, settings)
  })
})
