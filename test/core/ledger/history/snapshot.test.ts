import { expect } from 'chai'
import { systemClock } from '../../../../core/clock.ts'
import { balancesAt } from '../../../../core/ledger/history/balance.ts'
import { takeSnapshots } from '../../../../core/ledger/history/snapshot.ts'
import { totalsByAsset } from '../../../../core/ledger/trial-balance.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { postRandomEntries } from './random-ledger.ts'

const seed = systemClock.now().getTime() % 2 ** 31
const CHUNK = 16
/** Selects the snapshots that differ from the journal. */
const WRONG_SNAPSHOTS = `
  SELECT h.shard, w.seq, w.example FROM ledger.head h
  CROSS JOIN LATERAL ledger.wrong_snapshots(h.shard, 0, 9223372036854775807) w`

describe('snapshots', () => {
  let database: FreshDatabase

  beforeEach(async () => {
    database = await freshDatabase()
    await database.admin.query(
      `CREATE OR REPLACE FUNCTION ledger.chunk_size() RETURNS integer LANGUAGE sql
       IMMUTABLE RETURN ${CHUNK}`,
    )
  })
  afterEach(() => database.drop())

  const found = async (): Promise<string[]> => {
    const { rows } = await database.pool.query<{ example: string }>(
      `SELECT c.example FROM (${WRONG_SNAPSHOTS}) c ORDER BY c.shard, c.seq, c.example`,
    )
    return rows.map(({ example }) => example)
  }

  const dump = async (): Promise<string[]> => {
    const { rows } = await database.pool.query<{ line: string }>(
      `SELECT s::text AS line FROM ledger.snapshot s ORDER BY account, shard, seq_to`,
    )
    return rows.map(({ line }) => line)
  }

  it(`equal the sums of the postings, chunk by chunk (seed ${seed})`, async () => {
    await postRandomEntries(database.pool, seed, { rounds: 40, shards: 2 })
    await takeSnapshots(database.pool)
    const { rows } = await database.pool.query<{ line: string }>(
      `WITH moved AS (
         SELECT p.account_id, p.shard, (p.seq - 1) / ${CHUNK} * ${CHUNK} + ${CHUNK} AS seq_to,
           p.seq, sum(p.amount) AS amount
         FROM ledger.posting p GROUP BY 1, 2, 3, 4 HAVING sum(p.amount) <> 0),
       total AS (SELECT m.*, -sum(least(amount, 0)) OVER w AS debits,
           sum(greatest(amount, 0)) OVER w AS credits
         FROM moved m WINDOW w AS (PARTITION BY account_id, shard ORDER BY seq))
       SELECT ROW(account_id, shard, seq_to, max(debits), max(credits),
         array_agg(seq - seq_to ORDER BY seq), array_agg(amount ORDER BY seq))::text AS line
       FROM total t WHERE seq_to <= (SELECT h.seq FROM ledger.head h WHERE h.shard = t.shard)
       GROUP BY account_id, shard, seq_to ORDER BY account_id, shard, seq_to`,
    )
    expect(rows.length).to.be.above(100)
    expect(await dump()).to.deep.equal(rows.map(({ line }) => line))
    expect(await found()).to.deep.equal([])
    expect(await takeSnapshots(database.pool), 'once').to.equal(0)
  })

  it('can be dropped by the owner only, and are rebuilt byte for byte', async () => {
    await postRandomEntries(database.pool, seed, { rounds: 20, shards: 2 })
    await takeSnapshots(database.pool)
    const before = await dump()
    const drop = 'SELECT ledger.drop_snapshots()'
    const refused = await database.pool.query(drop).catch((error: Error) => error.message)
    expect(refused).to.match(/permission denied/)
    await database.admin.query(drop)
    expect(await dump()).to.deep.equal([])
    const truncate = await database.admin
      .query('TRUNCATE ledger.snapshot')
      .catch((error: Error) => error.message)
    expect(truncate, 'protected as before').to.match(/append-only/)
    await takeSnapshots(database.pool)
    expect(before.length).to.be.above(50)
    expect(await dump()).to.deep.equal(before)
  })

  it('are reported if they were changed, removed or added', async () => {
    await postRandomEntries(database.pool, seed, { rounds: 20, shards: 1 })
    await takeSnapshots(database.pool)
    const [one] = (
      await database.pool.query(`SELECT account, seq_to FROM ledger.snapshot
        WHERE account >= 1000 ORDER BY seq_to DESC, account LIMIT 1`)
    ).rows
    const where = `account = ${one.account} AND seq_to = ${one.seq_to}`
    const name = `shard 0 snapshot of account ${one.account} at seq ${one.seq_to}`
    for (const [tampering, message] of [
      [`UPDATE ledger.snapshot SET credits = credits + 1 WHERE ${where}`, [name]],
      [`UPDATE ledger.snapshot SET amounts[1] = amounts[1] + 1 WHERE ${where}`, [name]],
      [`UPDATE ledger.snapshot SET entries[1] = entries[1] - 1 WHERE ${where}`, [name]],
      [`DELETE FROM ledger.snapshot WHERE ${where}`, [name]],
      [
        `INSERT INTO ledger.snapshot VALUES (77, 0, ${one.seq_to}, 0, 5, '{0}', '{5}')`,
        [`shard 0 snapshot of account 77 at seq ${one.seq_to}`],
      ],
      [
        `INSERT INTO ledger.snapshot VALUES (77, 0, ${one.seq_to - 1n}, 0, 5, '{0}', '{5}')`,
        [`shard 0 snapshot of account 77 at seq ${one.seq_to - 1n}: there is no such chunk`],
      ],
    ] as const) {
      const client = await database.admin.connect()
      try {
        await client.query('BEGIN; SET LOCAL session_replication_role = replica')
        await client.query(tampering)
        const { rows } = await client.query(`SELECT c.example FROM (${WRONG_SNAPSHOTS}) c`)
        expect(
          rows.map(({ example }) => example),
          tampering,
        ).to.deep.equal(message)
        const part = `SELECT example FROM ledger.wrong_snapshots(0::smallint, $1, $2)`
        const { rows: there } = await client.query(part, [one.seq_to - BigInt(CHUNK), one.seq_to])
        expect(there.map(({ example }) => example)).to.deep.equal(message)
        expect((await client.query(part, [0, one.seq_to - BigInt(CHUNK)])).rows).to.deep.equal([])
      } finally {
        await client.query('ROLLBACK')
        client.release()
      }
    }
  })

  it('are correct at any time when taken concurrently, while calls run', async () => {
    const calls = { run: true }
    const instants: Date[] = []
    const job = async (): Promise<void> => {
      while (calls.run) await takeSnapshots(database.pool)
    }
    const reader = async (): Promise<void> => {
      while (calls.run) {
        const instant = systemClock.now()
        instants.push(instant)
        const sums = totalsByAsset(await balancesAt(database.pool, instant))
        for (const [asset, sum] of sums) expect(sum, asset).to.equal(0n)
      }
    }
    const booking = postRandomEntries(database.pool, seed, { rounds: 60, shards: 2 }).finally(
      () => {
        calls.run = false
      },
    )
    await Promise.all([booking, job(), job(), job(), reader()])
    expect(instants.length).to.be.above(3)
    await takeSnapshots(database.pool)
    expect(await found()).to.deep.equal([])
    const { rows } = await database.pool.query<{ behind: bigint }>(
      `SELECT h.seq - (SELECT max(c.seq_to) FROM ledger.chunk c WHERE c.shard = h.shard) AS behind
       FROM ledger.head h`,
    )
    for (const { behind } of rows) expect(behind < CHUNK).to.equal(true)
  })
})
