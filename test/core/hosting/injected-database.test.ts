import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { sleep } from '../../../core/clock.ts'
import { rolesWithPassword } from '../../../core/db/login.ts'
import { createPool } from '../../../core/db/pool.ts'
import { InjectedDatabase } from '../../../core/hosting/injected-database.ts'
import { createLog } from '../../../core/log.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const NOTES = fileURLToPath(new URL('./plugins/notes', import.meta.url))
const log = createLog('silent')

describe('an injected database', () => {
  let fresh: FreshDatabase
  let injected: InjectedDatabase
  const options = () => ({
    ownerUrl: fresh.url,
    servingUrl: fresh.url,
    role: 'plugin_notes',
    passwords: () => ['x'] as const,
    folder: NOTES,
    log,
  })
  before(async () => {
    fresh = await freshDatabase()
    injected = await InjectedDatabase.open({ ...options(), timeLimitMs: 1_000 })
  })
  after(async () => {
    await injected.close()
    await fresh.drop()
  })

  const { signal } = new AbortController()
  const answer = (request: object) =>
    injected.answer(request, signal).then(
      () => 'done',
      (error: Error & { code?: string }) => error.code ?? error.message,
    )
  const query = (text: string, transaction?: number, values: readonly unknown[] = []) =>
    answer({ do: 'query', text, values, transaction })
  const begin = (transaction: number) => answer({ do: 'begin', transaction, reading: false })
  const end = (transaction: number, commit = true) => answer({ do: 'end', transaction, commit })
  const busy = async () => {
    const { rowCount } = await fresh.admin.query(
      `SELECT FROM pg_stat_activity WHERE usename = 'plugin_notes' AND state <> 'idle'`,
    )
    return rowCount
  }

  it('terminates slow statements, even if they catch the cancellation', async () => {
    const stubborn = `DO $$ BEGIN LOOP
      BEGIN PERFORM pg_sleep(60); EXCEPTION WHEN query_canceled THEN NULL; END;
    END LOOP; END $$`
    for (const text of ['SELECT pg_sleep(60)', stubborn]) {
      expect(await query(text), text).to.equal('57014')
    }
    expect(await query('SET statement_timeout = 0; SELECT pg_sleep(60)')).to.equal('57014')
    expect(await begin(1)).to.equal('done')
    expect(await query('SET statement_timeout = 0', 1)).to.equal('done')
    expect(await query('SELECT pg_sleep(60)', 1)).to.equal('57014')
    expect(await end(1)).to.equal('57014')
    await eventually(async () => (await busy()) === 0)
  })

  it('terminates abandoned transactions', async () => {
    expect(await begin(3)).to.equal('done')
    const others = [4, 5, 6, 7].map((n) => begin(n)) // the last one waits for a connection
    expect(await Promise.all(others)).to.deep.equal(['done', 'done', 'done', 'done'])
    expect(await end(3)).to.equal('57014')
    expect(await begin(4)).to.equal('25P01')
    injected.rollBackAll()
    expect(await end(4)).to.equal('25P01')
    expect(await query('SELECT 1')).to.equal('done')
  })

  it('limits the result of each statement, however many are queued', async () => {
    const patient = await InjectedDatabase.open(options())
    const ask = (request: object) => patient.answer({ ...request, transaction: 8 }, signal)
    await ask({ do: 'begin', reading: false })
    const say = (text: string) =>
      ask({ do: 'query', text, values: [] }).catch((error: { readonly code: string }) => error.code)
    const large = say(`SELECT repeat('x', 100000000)`)
    const results = [large]
    const isUnderWay = () => Promise.race([large.then(() => false), sleep(1).then(() => true)])
    while (await isUnderWay()) results.push(say('SELECT 1'))
    expect(new Set(await Promise.all(results))).to.deep.equal(new Set(['54000']))
    await patient.close()
  })

  it('accepts only statements, values and files of the plugin', async () => {
    for (const request of [
      { do: 'query', text: 'SELECT 1\0', values: [] },
      { do: 'query', text: 'SELECT $1', values: [{}] },
      { do: 'query', text: 'SELECT $1', values: [[[[[[[['deep']]]]]]]] },
      { do: 'query', text: 'SELECT 1', values: Array.from({ length: 65_536 }, () => null) },
      { do: 'begin', transaction: -1, reading: false },
      { do: 'drop' },
    ]) {
      expect(await answer(request), JSON.stringify(request).slice(0, 80)).to.not.equal('done')
    }
    const elsewhere = await mkdtemp(join(tmpdir(), 'agenthub-elsewhere-'))
    await writeFile(join(elsewhere, '0001_x.sql'), 'CREATE TABLE x ()')
    for (const folder of [pathToFileURL(elsewhere).href, `file://${NOTES}/../notes`, 'x']) {
      expect(await answer({ do: 'migrate', folder }), folder).to.equal('55000')
    }
    await rm(elsewhere, { recursive: true })
  })

  it('accepts only its own login, whose password appears in no statement', async () => {
    const url = new URL(fresh.url)
    url.username = 'plugin_notes'
    for (const [password, works] of [
      ['x', true],
      ['y', false],
    ] as const) {
      url.password = password
      const pool = createPool(url.href, { role: 'plugin_notes', isRoleLogin: true })
      const who = pool.query('SELECT session_user::text AS who').then(
        ({ rows }) => rows[0].who,
        () => undefined,
      )
      expect(await who).to.equal(works ? 'plugin_notes' : undefined)
      await pool.end()
    }
    const owner = createPool(fresh.url, { role: 'plugin_notes', isRoleLogin: true })
    const refused = await owner.query('SELECT 1').catch(({ message }: Error) => message)
    expect(refused).to.include('instead of plugin_notes')
    await owner.end()
  })

  it('refuses a role used by the hub of another existing database on the server', async () => {
    const [one, other] = [await freshDatabase(), await freshDatabase()]
    const open = async ({ url }: FreshDatabase, password: string) =>
      (
        await InjectedDatabase.open({
          ...options(),
          role: 'plugin_shared',
          ownerUrl: url,
          servingUrl: url,
          passwords: () => [password] as const,
        })
      ).close()
    await open(one, 'of one')
    await open(other, 'of one') // the same key, the same password
    await open(one, 'of one')
    const refused = await open(other, 'of other').catch(({ message }: Error) => message)
    expect(refused).to.include('HUB_SIGNING_KEY').and.to.include('COMMENT ON ROLE "plugin_shared"')
    await open(one, 'of one')
    await open(one, 'after a change of the key')
    await one.drop()
    await open(other, 'of other')
    await other.drop()
  })

  it('follows a new password, also one that another process has set', async () => {
    let [stored, known] = ['first', 'first']
    const role = 'plugin_rotated'
    const open = (password: () => string, reload = async () => {}) =>
      InjectedDatabase.open({
        ...options(),
        role,
        passwords: () => [password()],
        reloadPasswords: reload,
      })
    const ahead = await open(() => stored)
    const behind = await open(
      () => known,
      async () => void (known = stored),
    )
    const ask = (database: InjectedDatabase) =>
      database.answer({ do: 'query', text: 'SELECT 1', values: [] }, signal)
    await Promise.all([ask(ahead), ask(behind)])
    const held = await behind.answer({ do: 'begin', transaction: 1, reading: false }, signal)
    expect(held).to.be.a('string')
    stored = 'second'
    await ask(ahead)
    const inTransaction = { do: 'query', transaction: 1, text: 'SELECT 1', values: [] }
    await behind.answer(inTransaction, signal)
    await Promise.all([1, 2, 3, 4].map(() => ask(behind)))
    expect(known, 'reloaded').to.equal('second')
    await behind.answer({ do: 'end', transaction: 1, commit: true }, signal)
    await Promise.all([ahead.close(), behind.close()])
  })

  it('keeps the previous password until the owner has set the next one', async () => {
    const role = 'plugin_served'
    const passwords = (list: readonly [string, ...string[]]) => () => list
    const first = { ...options(), role, passwords: passwords(['earlier']) }
    await (await InjectedDatabase.open(first)).close()
    const served = { ...options(), role, ownerUrl: undefined }
    const open = (list: readonly [string, ...string[]]) =>
      InjectedDatabase.open({ ...served, passwords: passwords(list) })
    const ask = (database: InjectedDatabase) =>
      database.answer({ do: 'query', text: 'SELECT 1', values: [] }, signal)
    const during = await open(['later', 'earlier'])
    expect(await ask(during)).to.be.a('string')
    const rolesWith = (password: string) => rolesWithPassword(fresh.pool, () => password)
    expect([await rolesWith('earlier'), await rolesWith('later')]).to.deep.equal([[role], []])
    await (await InjectedDatabase.open({ ...first, passwords: passwords(['later']) })).close()
    expect([await rolesWith('earlier'), await rolesWith('later')]).to.deep.equal([[], [role]])
    const after = await open(['later'])
    expect(await ask(after)).to.be.a('string')
    await Promise.all([during.close(), after.close()])
  })
})
