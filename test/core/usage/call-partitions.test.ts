import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { dayName, monthStart, sleep, systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { createLog } from '../../../core/log.ts'
import type { CallRecord } from '../../../core/usage/call-records.ts'
import { CallLog } from '../../../core/usage/calls.ts'
import { callsCommand } from '../../../server/commands/calls/index.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const NOW = systemClock.now()
const month = (offset: number) => monthStart(NOW, offset)
const partitionOf = (at: Date) => `call_${dayName(at).slice(0, 7).replace('-', '_')}`

describe('partitions of call records', () => {
  let database: FreshDatabase
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agenthub-calls-'))
  })
  after(() => rm(folder, { recursive: true }))
  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(() => database.drop())

  const record = (at: Date, more: Partial<CallRecord> = {}): CallRecord => ({
    id: uuidv7(at.getTime()),
    at,
    requestId: 'one',
    principal: 'prn_one',
    keyId: null,
    service: 'tides',
    endpoint: 1,
    priceVersion: 1,
    source: 'credits',
    charged: 5n,
    outcome: 'delivered',
    status: 200,
    latencyMs: 1,
    reason: 'a "quoted" \\ reason\n',
    requestHash: Buffer.from([0, 255]),
    responseHash: null,
    entry: null,
    usage: null,
    agent: null,
    ...more,
  })
  const write = async (...records: readonly CallRecord[]): Promise<void> => {
    const failures: string[] = []
    const log = createLog('error', { write: (line: string) => void failures.push(line) })
    const calls = new CallLog(database.pool, log)
    for (const each of records) calls.add(each)
    await calls.flush()
    expect(failures).to.deep.equal([])
  }
  const partitionsOf = async (): Promise<Record<string, bigint>> => {
    const { rows } = await database.admin.query(
      'SELECT tableoid::regclass::text AS name, count(*) AS n FROM hub.call GROUP BY 1',
    )
    return Object.fromEntries(rows.map(({ name, n }) => [name.replace('hub.', ''), n]))
  }
  const command = async (...args: string[]): Promise<readonly [number, string]> => {
    let output = ''
    const code = await callsCommand(
      async () => database.admin,
      args,
      (text) => (output += text),
    )
    return [code, output]
  }
  const audited = async (): Promise<string[]> => {
    const { rows } = await database.pool.query('SELECT act FROM hub.audit ORDER BY at')
    return rows.map(({ act }) => act)
  }
  /** Splits a month off `call_past`, as if the database had months since then. */
  async function createMonth(at: Date): Promise<string> {
    const name = partitionOf(at)
    await database.admin.query(`DO $$ DECLARE
        first uuid := hub.first_call_id('${at.toISOString()}');
        next uuid := hub.first_call_id('${monthStart(at, 1).toISOString()}');
        bound text := (SELECT substring(pg_get_expr(relpartbound, oid) FROM '[0-9a-f-]{36}')
          FROM pg_class WHERE oid = 'hub.call_past'::regclass);
      BEGIN
        ALTER TABLE hub.call DETACH PARTITION hub.call_past;
        EXECUTE format('ALTER TABLE hub.call ATTACH PARTITION hub.call_past
          FOR VALUES FROM (MINVALUE) TO (%L)', first);
        EXECUTE format('CREATE TABLE hub.${name} PARTITION OF hub.call
          FOR VALUES FROM (%L) TO (%L)', first, next);
        EXECUTE format('CREATE TABLE hub.call_between PARTITION OF hub.call
          FOR VALUES FROM (%L) TO (%L)', next, bound);
      END $$`)
    return name
  }

  it('take records of every time, also of months that have no partition', async () => {
    const times = [new Date('2020-05-01T00:00:00Z'), NOW, month(3), month(200)]
    await write(...times.map((at) => record(at)))
    expect(await partitionsOf()).to.deep.equal({
      call_past: 2n,
      [partitionOf(month(3))]: 1n,
      call_later: 1n,
    })
  })

  it('are made for coming months with the records that these already have', async () => {
    const at = month(5)
    await write(record(at), record(month(6)))
    const { rows: before } = await database.pool.query('SELECT * FROM hub.service_day ORDER BY day')
    const made = async () =>
      (await database.pool.query('SELECT hub.ensure_call_partitions(5) AS n')).rows[0].n
    expect(await made()).to.equal(2)
    expect(await made()).to.equal(0)
    expect(await partitionsOf()).to.deep.equal({ [partitionOf(at)]: 1n, call_later: 1n })
    const { rows: after } = await database.pool.query('SELECT * FROM hub.service_day ORDER BY day')
    expect(after, 'figures counted once').to.deep.equal(before)
  })

  it('are split off call_later, if that has many records, while calls are recorded', async () => {
    const at = month(5)
    await database.admin.query(
      `INSERT INTO hub.call (id, at, request_id, principal, service, endpoint, price_version,
         source, charged, outcome, status, latency_ms)
       SELECT (left(hub.first_call_id($1)::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, $1, 'r',
         'prn_one', 'tides', 1, 1, 'none', 0, 'failed', 500, 1 FROM generate_series(1, 10001) n`,
      [at],
    )
    const make = () => database.pool.query('SELECT hub.ensure_call_partitions(5)')
    const error = await make().catch((failure) => failure)
    expect(error.message).to.include('run "npm run calls -- split"')
    const end = new AbortController()
    const load = (async () => {
      for (; !end.signal.aborted; await sleep(5)) await write(record(at))
    })()
    const name = partitionOf(month(4)) // the first month without a partition
    const output = await command('split').finally(() => end.abort())
    await load
    expect(output).to.deep.equal([0, `call_later became ${name}.\n`])
    await write(record(month(6)), record(month(7)))
    expect(Object.keys(await partitionsOf()).sort()).to.deep.equal([name, 'call_later'])
    expect((await partitionsOf())['call_later']).to.equal(1n)
    await make()
  })

  it('keep ids unique across all of them', async () => {
    for (const at of [NOW, month(3), month(200)]) {
      const one = record(at)
      await write(one)
      const error = await database.pool
        .query(`INSERT INTO hub.call SELECT * FROM hub.call WHERE id = $1`, [one.id])
        .catch((failure) => failure)
      expect(error).to.include({ code: '23505' })
    }
  })

  it('read one partition to find a call by its id', async () => {
    const one = record(month(3))
    await write(one)
    const { rows } = await database.admin.query(
      `EXPLAIN SELECT * FROM hub.call WHERE id = '${one.id}'`,
    )
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan)
      .to.include(`on ${partitionOf(month(3))}`)
      .and.not.include('call_past')
  })

  it('are detached while calls are recorded, exported, attached again and deleted', async () => {
    const at = month(-20)
    const name = await createMonth(at)
    const old = record(at, { charged: 2n ** 60n })
    await write(old, record(at), record(NOW))
    const end = new AbortController()
    const load = (async () => {
      while (!end.signal.aborted) {
        await write(record(systemClock.now()))
        await sleep(5)
      }
    })()
    try {
      expect(await command('detach', name)).to.deep.equal([
        0,
        `${name} is detached. Export it before you drop it.\n`,
      ])
      const path = join(folder, 'one.jsonl.gz')
      const [code, output] = await command('export', name, '--out', path)
      expect([code, output.replace(/\w{64}/, 'HASH')]).to.deep.equal([
        0,
        `${path}: 2 calls, SHA-256 of the text HASH\n`,
      ])
      const lines = gunzipSync(await readFile(path))
        .toString()
        .trimEnd()
        .split('\n')
      expect(lines.map((line) => JSON.parse(line))).to.deep.include({
        ...JSON.parse(lines[0]!),
        id: old.id,
        charged: String(old.charged),
        reason: old.reason,
        request_hash: '\\x00ff',
      })
      expect((await partitionsOf())[name]).to.equal(undefined)
      expect((await command('attach', name))[0]).to.equal(0)
      expect((await partitionsOf())[name]).to.equal(2n)
      await write(record(at))
      expect((await partitionsOf())[name], 'the range of before').to.equal(3n)
      await command('detach', name)
      expect((await command('drop', name, '--file', path))[0], 'lacks a call').to.equal(1)
      const complete = join(folder, 'complete.jsonl.gz')
      await command('export', name, '--out', complete)
      expect((await command('drop', name, '--file', complete))[0]).to.equal(0)
      expect((await command('list'))[1]).not.to.include(name)
    } finally {
      end.abort()
      await load
    }
    expect(await audited()).to.deep.equal(['calls.detach', 'calls.detach', 'calls.drop'])
  })

  it('stay attached while their calls may be needed', async () => {
    const refusal = async (name: string) =>
      command('detach', name).then(
        () => 'accepted',
        (error: Error) => error.message,
      )
    expect(await refusal('call_past')).to.include('has calls of the last 13 months')
    expect(await refusal('call_later')).to.include('No partition call_later')
    expect(await refusal(partitionOf(month(3)))).to.include('has calls of the last 13 months')
    expect(await refusal('call; DROP TABLE hub.call')).to.include('No partition')
    const name = await createMonth(month(-20))
    expect((await command('drop', name, '--file', 'none').catch((e) => [e.message]))[0]).to.include(
      'is attached',
    )
    expect(await audited()).to.deep.equal([])
  })

  it('end a detachment that was interrupted', async () => {
    const name = await createMonth(month(-20))
    await write(record(month(-20)))
    const blocker = await database.pool.connect()
    await blocker.query('BEGIN')
    await blocker.query('SELECT FROM hub.call')
    const detached = command('detach', name).catch((error) => error)
    await eventually(async () => {
      const { rows } = await database.admin.query(
        `SELECT pid FROM pg_stat_activity WHERE query LIKE 'ALTER TABLE hub.call DETACH%'
         AND datname = current_database() AND wait_event_type = 'Lock'`,
      )
      if (rows.length === 0) return false
      await database.admin.query('SELECT pg_terminate_backend($1)', [rows[0].pid])
      return true
    })
    expect(await detached).to.be.instanceOf(Error)
    expect(await audited(), 'before the act').to.deep.equal(['calls.detach'])
    expect((await command('list'))[1]).to.match(new RegExp(`${name} +detachment interrupted`))
    await blocker.query('COMMIT')
    blocker.release()
    expect((await command('detach', name))[0]).to.equal(0)
    expect((await partitionsOf())[name]).to.equal(undefined)
  })
})
