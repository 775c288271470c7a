import type { DataPlugin } from 'agenthub/plugin'
import { expect } from 'chai'
import { refreshServiceState } from '../../../core/catalog/services/catalog.ts'
import { HubError } from '../../../core/client/index.ts'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { usd } from '../../../core/money.ts'
import tenders from '../../../plugins/tenders/index.ts'
import { createIngestion } from '../../../plugins/tenders/ingest/index.ts'
import { progressIn } from '../../../plugins/tenders/ingest/progress.ts'
import { openStore } from '../../../plugins/tenders/store/store.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { startTed, type TedServer } from '../../support/ted-server.ts'
import { clockAt, FAST_SETTINGS, issueOf } from './ingest/support.ts'

const MONDAY = '2026-03-02'
const TIMEOUT_MS = 30_000
const POLL_MS = 100

/** The service in production mode, reading a local journal on a fast schedule. */
function production(clock: ReturnType<typeof clockAt>) {
  let injected: Parameters<DataPlugin['open']>[0] | undefined
  const plugin: DataPlugin = {
    slug: 'journal',
    migrations: tenders.migrations,
    open(host) {
      injected = { ...host, clock, sandbox: false, secret: () => 'ops@hub.test' }
      const { database } = injected
      const store = openStore(database, clock)
      const { schedules } = createIngestion({
        host: injected,
        database,
        store,
        settings: FAST_SETTINGS,
      })
      const fast = { ingest: { ...schedules['ingest']!, everySeconds: 1 } }
      return { ...tenders.open(injected), slug: 'journal', schedules: fast }
    },
  }
  return { plugin, database: () => injected!.database }
}

describe('tenders: the service in production', () => {
  const clock = clockAt(`${MONDAY}T12:00:00Z`)
  const { plugin, database } = production(clock)
  let ted: TedServer
  const hub = useHub(async () => {
    ted = await startTed([issueOf(MONDAY, '41/2026', 6)])
    const sandboxHosts = new Map([['ted.test', ted.port]])
    return { plugins: [plugin], config: { sandboxHosts, jobs: true } }
  })
  let agent: TestAgent
  before(async () => {
    agent = await hub().agent()
    await hub().credit(agent.keyId, usd('1'))
  })
  after(() => ted.close())

  const feed = () => agent.client.call('journal', '/v1/feed', {}, { method: 'GET' })
  const slugs = async () => {
    const answer = await fetch(`${hub().url}/v1/services?limit=100`)
    const { data } = (await answer.json()) as { readonly data: readonly { slug: string }[] }
    return data.map(({ slug }) => slug)
  }

  it('is not listed and sells nothing before a day of the journal is complete', async () => {
    expect(await slugs())
      .to.include('tenders')
      .and.not.include('journal')
    const error = await feed().catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(HubError)
    expect(await hub().balance(agent.keyId)).to.equal(usd('1'))
  })

  it('reads the requested days by its schedule in the queue', async function () {
    this.timeout(2 * TIMEOUT_MS)
    await progressIn(database()).want([MONDAY])
    const store = openStore(database(), clock)
    const isClosed = async () => (await store.snapshots(1))[0]?.closedAt != null
    const deadline = elapsedMs() + TIMEOUT_MS
    while (!(await isClosed()) && elapsedMs() < deadline) await sleep(POLL_MS)
    expect((await store.snapshots(2)).map(({ day, received }) => [day, received])).to.deep.equal([
      [MONDAY, 6],
    ])
    const { rows } = await hub().database.admin.query(
      `SELECT FROM pgboss.job WHERE name = 'journal/ingest' AND state = 'completed'`,
    )
    expect(rows).to.not.be.empty
  })

  it('is listed afterwards and sells what was published', async () => {
    const service = hub().hub.services.find(({ slug }) => slug === 'journal')!
    await refreshServiceState(hub().hub.pool, service)
    expect(await slugs()).to.include('journal')
    const { body, charged } = await feed()
    expect(charged).to.equal(usd('0.01'))
    expect(body).to.include({ stale: false }).and.not.have.property('sample')
    expect(body).to.have.nested.property('pagination.total', 6)
  })

  it('marks a response as stale if a day is missing, and refunds the call', async () => {
    const before = await hub().balance(agent.keyId)
    clock.set('2026-03-04T06:00:00Z') // Tuesday was not asked about
    for (const path of ['/v1/feed', '/v1/changes', '/v1/daily-action-brief']) {
      const { body, charged } = await agent.client.call('journal', path, {}, { method: 'GET' })
      expect(body, path).to.include({ stale: true })
      expect(charged, path).to.equal(0n)
    }
    expect(await hub().balance(agent.keyId)).to.equal(before)
  })
})
