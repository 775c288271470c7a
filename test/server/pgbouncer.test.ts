import { expect } from 'chai'
import { createPool } from '../../core/db/pool.ts'
import { subscriberLags } from '../../core/ledger/outbox/subscriber.ts'
import { usd } from '../../core/money.ts'
import { realSockets } from '../core/egress/fixture.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { startTestHub, type TestAgent, type TestHub } from '../support/hub.ts'
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'
import { requirePrograms } from '../support/skip.ts'

const USER = 'hub_web_of_a_test'
const BARE = 'hub_bare_of_a_test'
const PASSWORD = 'a-password-of-a-test'

/** Setup as documented in core/CONFIGURATION.md. */
const LOGIN = `
  CREATE ROLE ${USER} LOGIN PASSWORD '${PASSWORD}' IN ROLE hub_app;
  ALTER ROLE ${USER} SET role = hub_app;
  ALTER ROLE ${USER} SET statement_timeout = '30s';
  ALTER ROLE ${USER} SET lock_timeout = '10s'`

describe('a hub behind PgBouncer in transaction mode', () => {
  realSockets()
  let database: FreshDatabase
  let bouncer: PgBouncer
  let hub: TestHub
  let ada: TestAgent
  const as = (user: string): string => {
    const url = new URL(bouncer.through(database.url))
    url.username = user
    url.password = PASSWORD
    return url.href
  }

  before(async function () {
    requirePrograms(this, 'pgbouncer')
    database = await freshDatabase()
    await database.admin.query(LOGIN)
    await database.admin.query(`CREATE ROLE ${BARE} LOGIN PASSWORD '${PASSWORD}'`)
    // Fewer connections than the hub opens: each is shared between transactions.
    const logins = { [USER]: PASSWORD, [BARE]: PASSWORD }
    bouncer = await startPgBouncer(database.url, logins, 3)
    hub = await startTestHub({
      config: {
        databaseUrl: as(USER),
        databaseDirectUrl: database.url,
        rateStore: 'database',
        jobs: true,
      },
    })
    ada = await hub.agent(usd('10'))
  })
  after(async () => {
    await hub?.close()
    await bouncer?.stop()
    await database?.admin.query(`DROP OWNED BY ${USER}; DROP ROLE ${USER}, ${BARE}`)
    await database?.drop()
  })

  it('sells, at once and in any order, and counts every call', async () => {
    const bought = await ada.client.purchase(usd('5'))
    expect(bought.status).to.equal(201)
    const call = (n: number) =>
      ask(hub.url, '/proxy/echo/say', {
        key: ada.apiKey,
        body: { words: `word ${n}` },
        headers: { 'idempotency-key': `key-${n % 50}` },
      })
    const responses = await Promise.all(Array.from({ length: 50 }, (_, n) => call(n)))
    expect(responses.filter(({ status }) => status !== 200)).to.deep.equal([])
    const again = await call(7)
    expect([again.status, again.headers['idempotency-replayed']]).to.deep.equal([200, 'true'])
    expect(await hub.balance(ada.keyId)).to.equal(usd('4.995'))
    const { headers } = await ask(hub.url, '/v1/credits/balance', { key: ada.apiKey })
    const queryCount = 2 + 51 + 1 // the purchase counts as two, this as one
    expect(headers['x-ratelimit-remaining']).to.equal(String(1_000 - queryCount))
  })

  it('buys from sellers outside', async () => {
    const url = `${hub.sandbox!.sellerUrl}/weather?city=Oslo`
    const { status, headers } = await ask(hub.url, '/proxy/external', {
      key: ada.apiKey,
      body: { url },
    })
    expect([status, headers['x-charged-microdollars']]).to.deep.equal([200, '10000'])
  })

  it('has its jobs and readers on connections that last', async () => {
    const behind = async () =>
      (await subscriberLags(database.pool)).filter(
        (each) => each.name === 'spending' && each.behind > 0n,
      )
    await eventually(async () => (await behind()).length === 0)
    const { rows } = await database.admin.query<{ n: number }>(
      `SELECT count(*)::integer AS n FROM pg_stat_activity
       WHERE datname = current_database() AND query = 'LISTEN ledger'`,
    )
    expect(rows[0]?.n).to.equal(1)
  })

  it('is refused for a login that does not take the role', async () => {
    const pool = createPool(as(BARE), { role: 'hub_app', pooled: true })
    const failure = await pool.query('SELECT 1').catch((error: Error) => error.message)
    expect(failure).to.match(/has the role hub_bare_of_a_test instead of hub_app.*ALTER ROLE/s)
    await pool.end()
  })

  it('would not work with what sessions keep: names of statements, options', async () => {
    const named = createPool(as(USER), { max: 6, statementMs: 0, lockMs: 0 })
    const failures = await Promise.allSettled(
      Array.from({ length: 200 }, (_, n) =>
        named.query({ name: 'a name', text: 'SELECT $1::integer', values: [n] }),
      ),
    )
    expect(failures.filter(({ status }) => status === 'rejected')).not.to.deep.equal([])
    await named.end()
    const direct = createPool(as(USER), { role: 'hub_app' })
    const failure = await direct.query('SELECT 1').catch((error: Error) => error.message)
    expect(failure).to.match(/unsupported startup parameter/)
    await direct.end()
  })
})
