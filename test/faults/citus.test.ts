import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import nock from 'nock'
import type { Pool, QueryResult, QueryResultRow } from 'pg'
import { distributeLedger } from '../../core/db/citus/distribute.ts'
import { connectClient } from '../../core/db/client.ts'
import { openLogins } from '../../core/db/logins.ts'
import { databaseUrl } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
import { expireHolds } from '../../core/ledger/expire.ts'
import { runSubscribers } from '../../core/ledger/outbox/run.ts'
import { catchUp } from '../../core/ledger/outbox/subscriber.ts'
import { verifySince } from '../../core/ledger/verify/incremental.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { createLog } from '../../core/log.ts'
import { earningsSubscriber } from '../../core/usage/earnings.ts'
import { spendingSubscriber } from '../../core/usage/spending.ts'
import { clusterCommand } from '../../server/commands/cluster/index.ts'
import { failingService } from '../../server/commands/demo/index.ts'
import { createNarrator } from '../../server/commands/demo/narrator.ts'
import { playStory } from '../../server/commands/demo/story.ts'
import { type CitusCluster, databasesOf, hasCitus, NO_CITUS, startCitus } from '../support/citus.ts'
import { eventually } from '../support/eventually.ts'
import { startTestHub, type TestHub } from '../support/hub.ts'
import type { FreshDatabase } from '../support/postgres.ts'
import { skip } from '../support/skip.ts'

const WORKERS = 2
/** Longer than the test: subscribers are woken, or handle nothing. */
const NEVER_MS = 3_600_000

describe('a ledger on Citus', function () {
  this.timeout(600_000)
  let folder: string
  let cluster: CitusCluster
  let url: string
  let workers: readonly string[]
  /** Connection string of a node that joins later. */
  let spare: string
  const hubs: Record<string, TestHub> = {}

  before(async function () {
    if (!(await hasCitus())) skip(this, NO_CITUS)
    nock.restore()
    folder = await mkdtemp(join(tmpdir(), 'agenthub-citus-'))
    await chmod(folder, 0o711)
    cluster = await startCitus(folder, WORKERS + 1)
    workers = cluster.workers.slice(0, WORKERS)
    spare = cluster.workers[WORKERS]!
    url = await databasesOf(cluster.url, workers).createDatabase('hub')
    await openLogins({ url, cluster: 'citus', distributes: true })
    const config = { cluster: 'citus' } as const
    const plugins = [failingService]
    hubs['citus'] = await startTestHub({ database: fresh(url), plugins, config })
    hubs['plain'] = await startTestHub({ plugins })
  })

  after(async () => {
    for (const hub of Object.values(hubs)) await hub.close()
    await cluster?.stop()
    if (folder) await rm(folder, { recursive: true, force: true })
    nock.activate()
  })

  it('plays the story of the demo to the same balances as a single server', async () => {
    for (const hub of Object.values(hubs)) {
      const story = await playStory(
        hub,
        createNarrator(() => {}),
      )
      expect(story.ok).to.equal(true)
      await expireHolds(hub.hub.pool, hub.hub.ledger)
      for (const each of [spendingSubscriber, earningsSubscriber]) await catchUp(hub.hub.pool, each)
    }
    const { citus, plain } = hubs
    expect(await figures(citus!.hub.pool)).to.deep.equal(await figures(plain!.hub.pool))
  })

  it('stores the entries of each shard on one worker, and none on the coordinator', async () => {
    const { rows } = await hubs['citus']!.database.admin.query<{ node: string; tables: string }>(
      `SELECT nodename || ':' || nodeport AS node, count(*) AS tables FROM citus_shards
       WHERE table_name = 'ledger.head'::regclass GROUP BY 1 ORDER BY 1`,
    )
    expect(rows.map(({ tables }) => Number(tables))).to.deep.equal([32, 32])
  })

  it('has a physical shard for each of eight shards, and 39 for 64', async () => {
    const { rows } = await hubs['citus']!.database.admin.query<{ eight: number; most: number }>(
      `SELECT count(DISTINCT place) FILTER (WHERE shard < 8)::integer AS eight,
         count(DISTINCT place)::integer AS most
       FROM (SELECT shard, get_shard_id_for_distribution_column('ledger.head', shard::smallint)
         AS place FROM generate_series(0, 63) shard) s`,
    )
    expect(rows).to.deep.equal([{ eight: 8, most: 39 }])
  })

  it('receives batches straight from the hub, on the worker of their shard', async () => {
    const citus = hubs['citus']!
    const { client, keyId } = await citus.agent()
    await citus.credit(keyId, 1_000_000n)
    await eventually(async () => {
      await client.call('echo', '/say', { words: 'straight' })
      const batches = await Promise.all(workers.map(countDirectBatches))
      return batches.some((count) => count > 0)
    })
  })

  it('verifies the whole ledger, and signs and verifies new entries', async () => {
    const { pool } = hubs['citus']!.hub
    const whole = await verifyLedger(pool)
    expect(whole.checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
    expect(whole.ok).to.equal(true)
    const since = await verifySince(pool)
    expect(since.ok).to.equal(true)
  })

  it('is complete, and says so on the command line', async () => {
    const { admin } = hubs['citus']!.database
    expect(await runCluster(admin, 'check', '--json')).to.deep.equal({ problems: [] })
    const { nodes, shards } = await runCluster(admin, 'status', '--json')
    expect(nodes).to.have.length(1 + WORKERS)
    expect(shards).to.have.length(2)
  })

  it('moves a shard to another node, where calls go on and the ledger is sound', async () => {
    const citus = hubs['citus']!
    const { hub, database } = citus
    const { shards } = await runCluster(database.admin, 'status', '--json')
    for (const { shard, node } of shards as { shard: number; node: string }[]) {
      const other = workers.map((each) => new URL(each).host).find((host) => host !== node)
      const exitCode = await clusterCommand(
        async () => database.admin,
        ['move', `${shard}`, other!],
        () => {},
      )
      expect(exitCode).to.equal(0)
    }
    const { shards: moved } = await runCluster(database.admin, 'status', '--json')
    for (const [at, { node }] of (moved as { node: string }[]).entries()) {
      expect(node).not.to.equal((shards as { node: string }[])[at]!.node)
    }
    const { client, keyId } = await citus.agent()
    await citus.credit(keyId, 1_000_000n)
    const answer = await client.call('echo', '/say', { words: 'moved' })
    expect(answer.source).to.equal('credits')
    expect((await verifyLedger(hub.pool)).ok).to.equal(true)
    expect(await runCluster(database.admin, 'check', '--json')).to.deep.equal({ problems: [] })
  })

  it('adds a node, whose entries wake subscribers that ran before', async () => {
    const citus = hubs['citus']!
    const { hub, database } = citus
    const { host } = new URL(spare)
    const own = await createDatabase(spare)
    let pages = 0
    const subscriber = { name: 'pages', tables: [], handle: async () => void pages++ }
    const log = createLog('silent')
    const deps = { pool: hub.pool, subscribers: [subscriber], log, pollMs: NEVER_MS }
    const running = await runSubscribers(deps)
    try {
      const node = await runCluster(database.admin, 'add-node', host, '--json')
      expect(node).to.deep.equal({ node: host, added: true })
      for (const shard of ['0', '1']) {
        const moved = await runCluster(database.admin, 'move', shard, host, '--json')
        expect(moved).to.include({ node: host, moved: true })
      }
      await eventually(async () => (await countSessions(own, 'LISTEN ledger')) > 0)
      const { keyId } = await citus.agent()
      await eventually(() => pages > 0)
      const before = pages
      await citus.credit(keyId, 1_000_000n)
      await eventually(() => pages > before)
    } finally {
      await running.stop()
    }
    expect(await runCluster(database.admin, 'check', '--json')).to.deep.equal({ problems: [] })
    expect((await verifyLedger(hub.pool)).ok).to.equal(true)
  })

  it('may be distributed again, which changes nothing', async () => {
    const before = await figures(hubs['citus']!.hub.pool)
    await distributeLedger(url)
    expect(await figures(hubs['citus']!.hub.pool)).to.deep.equal(before)
  })
})

/** Counts connections of the hub itself that posted a batch; those of Citus have another name. */
const countDirectBatches = (worker: string): Promise<number> =>
  countSessions(databaseUrl(worker, 'hub'), '%FROM ledger.apply(%')

/** Counts sessions of the hub itself by their last statement. */
async function countSessions(url: string, like: string): Promise<number> {
  const { rows } = await query<{ count: number }>(
    url,
    `SELECT count(*)::integer AS count FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'agenthub' AND query LIKE '${like}'`,
  )
  return rows[0]!.count
}

/** Creates the database of a node that joins later. @returns its connection string */
async function createDatabase(node: string): Promise<string> {
  const url = databaseUrl(node, 'hub')
  await query(node, 'CREATE DATABASE hub')
  await query(url, 'CREATE EXTENSION citus')
  return url
}

async function query<Row extends QueryResultRow>(
  url: string,
  sql: string,
): Promise<QueryResult<Row>> {
  const client = await connectClient(url, 'test')
  try {
    return await client.query<Row>(sql)
  } finally {
    await client.end()
  }
}

/** Runs a command and parses its output. */
async function runCluster(pool: Pool, ...args: readonly string[]) {
  let output = ''
  await clusterCommand(
    async () => pool,
    args,
    (text) => void (output += text),
  )
  return JSON.parse(output)
}

/** Database of a cluster; the cluster is deleted as a whole. */
function fresh(url: string): FreshDatabase {
  const pool = createPool(url, { role: 'hub_finance', max: 4 })
  const admin = createPool(url, { max: 2, statementMs: 0 }) // moves may take minutes
  return {
    url,
    pool,
    admin,
    drop: async () => void (await Promise.all([pool.end(), admin.end()])),
  }
}

/** Balances by group of accounts, numbers of entries by event, and read models. */
async function figures(pool: Pool): Promise<unknown> {
  const { rows: accounts } = await pool.query<{ id: bigint; code: string; asset: string }>(
    `SELECT a.id, ledger.account_group(a.code) AS code, s.code AS asset
     FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset WHERE s.code <> 'GWEI'`,
  )
  const { rows: balances } = await pool.query<{ account: bigint; balance: string }>(
    `SELECT account, sum(balance)::text AS balance FROM ledger.balance GROUP BY account`,
  )
  const known = new Map(accounts.map((each) => [each.id, each]))
  const lines = balances.flatMap(({ account, balance }) => {
    const found = known.get(account)
    return found && balance !== '0' ? [`${found.code} ${found.asset} ${balance}`] : []
  })
  const { rows: kinds } = await pool.query<{ kind: number; entries: string }>(
    `SELECT kind, count(*)::text AS entries FROM ledger.journal GROUP BY kind ORDER BY kind`,
  )
  const { rows: spending } = await pool.query(
    `SELECT sum(calls)::text AS calls, sum(charged)::text AS charged, sum(free_calls)::text AS free
     FROM hub.spending`,
  )
  const { rows: earning } = await pool.query(
    `SELECT sum(gross)::text AS gross, sum(commission)::text AS commission FROM hub.earning`,
  )
  return { lines: lines.sort(), kinds, spending, earning }
}
