import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { openStore } from '../../../core/backup/backup-store.ts'
import { createBackup } from '../../../core/backup/create-backup.ts'
import { sleep, systemClock } from '../../../core/clock.ts'
import { moveShard, planMoves } from '../../../core/db/citus/change-cluster.ts'
import { isDistributed } from '../../../core/db/citus/is-distributed.ts'
import { ShardConnections } from '../../../core/db/citus/shard-connections.ts'
import { type LoginOptions, openLogins } from '../../../core/db/logins.ts'
import { ConfigError } from '../../../core/runtime/config-error.ts'
import { eventually } from '../../support/eventually.ts'
import { schemaObjects } from '../../support/ledger-statements.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

/** Hashes of the functions of the migrations that `core/db/citus/` replaces. */
const REPLACED: Readonly<Record<string, string>> = {
  balances_hash: '5300e3857828a6dd',
  cut: '25ae17748cbf8947',
  end_days: 'f7d24f99959d6d17',
  groups_at: '97db2f2689de20db',
  held_at: 'c3edbeac01301229',
  late: '286972c76c45c217',
  owners_of: 'f2779d4af8631212',
  statement: '82ea4200c95d2f39',
  sum_up: '2381cfd3edba8ea7',
  totals_at: 'cf4c71bf3eacdb3f',
  wrong_day_ends: 'c95b6f2fd9260e79',
  wrong_snapshots: 'ea1ce9c12ee8eba8',
}

const read = (path: string): string => readFileSync(path, 'utf8')

describe('functions for a ledger on Citus', () => {
  it('replace those of the newest migrations, whose changes they need too', () => {
    const objects = schemaObjects(read('core/db/schema.sql'))
    for (const [name, hash] of Object.entries(REPLACED)) {
      const text = objects.find((each) => each.name === `ledger.${name}`)?.text ?? ''
      const found = createHash('sha256').update(text).digest('hex').slice(0, hash.length)
      const why = `ledger.${name} has changed: change it in core/db/citus, then this hash`
      expect(found, why).to.equal(hash)
    }
  })

  it('are all listed', () => {
    const files = ['functions', 'verification'].map((name) => read(`core/db/citus/${name}.sql`))
    const names = [...files.join('\n').matchAll(/FUNCTION ledger\.(\w+)\(/g)].map(
      ([, name]) => name,
    )
    expect(names).to.have.members(Object.keys(REPLACED))
  })
})

describe('a server without Citus', () => {
  let database: FreshDatabase
  before(async () => void (database = await freshDatabase(undefined, { empty: true })))
  after(() => database.drop())

  const refusal = async (options: Omit<LoginOptions, 'url'>): Promise<string> => {
    const refused = await openLogins({ url: database.url, ...options }).catch((e) => e)
    expect(refused).to.be.instanceOf(ConfigError)
    const { rows } = await database.admin.query(
      `SELECT to_regnamespace('hub') IS NULL AS "isEmpty"`,
    )
    expect(rows).to.deep.equal([{ isEmpty: true }])
    return refused.message
  }

  it('is refused before anything is changed', async () => {
    expect(await refusal({ cluster: 'citus', distributes: true })).to.match(
      /needs the extension Citus, .* does not offer.* Nothing was/,
    )
  })

  it('serves no cluster that was not migrated to one', async () => {
    expect(await refusal({ cluster: 'citus' })).to.match(/run "npm run migrate".* Nothing was/)
  })

  it('has no distributed ledger', async () => {
    expect(await isDistributed(database.admin)).to.equal(false)
  })
})

describe('a distributed ledger', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
    await openLogins({ url: database.url })
    await database.admin.query(
      `ALTER TABLE ledger.journal DROP CONSTRAINT journal_pkey;
       ALTER TABLE ledger.journal ADD PRIMARY KEY (owner, id, phase, shard)`,
    )
  })
  after(() => database.drop())

  it('is recognized by the key of its journal', async () => {
    expect(await isDistributed(database.admin)).to.equal(true)
  })

  it('is refused without the setting', async () => {
    const refused = await openLogins({ url: database.url }).catch((e) => e)
    expect(refused).to.be.instanceOf(ConfigError)
    expect(refused.message).to.match(/set HUB_CLUSTER=citus\. Nothing was changed/)
  })

  it('is not backed up without the servers that have its entries', async () => {
    const place = await mkdtemp(join(tmpdir(), 'agenthub-backup-'))
    const { store } = await openStore(place)
    const refused = await createBackup({
      store,
      passphrase: 'correct horse battery staple',
      databaseUrl: database.url,
      dataDir: place,
      version: '0.0.0-test',
      clock: systemClock,
    }).catch((e) => e)
    expect(refused).to.be.instanceOf(ConfigError)
    expect(refused.message).to.match(/would lack its entries\..* Nothing was stored\.$/)
    expect(await readdir(place)).to.deep.equal([])
    store.close()
    await rm(place, { recursive: true })
  })

  it('moves only shards that it has', async () => {
    await database.admin.query(
      `CREATE TABLE pg_dist_node AS
         SELECT 'worker' AS nodename, 5432 AS nodeport, true AS shouldhaveshards`,
    )
    const client = await database.admin.connect()
    for (const shard of [64, 40_000, 2 ** 40, -1, -40_000]) {
      const refused = await moveShard(client, shard, { host: 'worker', port: 5432 }).catch((e) => e)
      expect(refused).to.be.instanceOf(ConfigError)
      expect(refused.message).to.equal(`The ledger has no shard ${shard}. Nothing was moved.`)
    }
    client.release()
  })

  it('is migrated and distributed by no start', async () => {
    const { ownerUrl } = await openLogins({ url: database.url, cluster: 'citus' })
    expect(ownerUrl).to.equal(database.url)
    await database.admin.query('DELETE FROM hub.migration WHERE number > 1')
    const refused = await openLogins({ url: database.url, cluster: 'citus' }).catch((e) => e)
    expect(refused.message).to.match(/Run "npm run migrate"/)
  })
})

describe('connections to the workers of a cluster', () => {
  let database: FreshDatabase
  let connections: ShardConnections
  before(async () => {
    database = await freshDatabase(undefined, { empty: true })
    const { hostname, port } = new URL(database.url)
    // Stand-ins for the metadata of Citus: this server is the worker too.
    await database.admin.query(
      `CREATE TABLE pg_dist_node AS SELECT 1 AS groupid, '${hostname}' AS nodename,
         ${port} AS nodeport, true AS isactive, 'primary' AS noderole;
       CREATE TABLE pg_dist_placement AS SELECT 1 AS groupid, 1 AS shardid, 1 AS shardstate;
       CREATE FUNCTION get_shard_id_for_distribution_column(text, smallint) RETURNS bigint
         LANGUAGE sql AS 'SELECT 1'`,
    )
    connections = new ShardConnections(database.admin, { applicationName: 'straight' })
  })
  after(async () => {
    await connections.close()
    await database.drop()
  })

  it('are used once they are open, and after an error once the worker is found again', async () => {
    const shard = connections.databaseOf(0)
    const isStraight = async (): Promise<boolean> => {
      const text = `SELECT current_setting('application_name') = 'straight' AS straight`
      const { rows } = await shard.query<{ straight: boolean }>({ text })
      return rows[0]!.straight
    }
    for (let round = 0; round < 2; round++) {
      expect(await isStraight()).to.equal(false)
      await eventually(isStraight)
      const failed = await shard.query({ text: 'SELECT 1 / 0' }).catch((error) => error)
      expect(failed.message).to.equal('division by zero')
    }
  })

  it('are not opened any more while they close', async () => {
    const closing = new ShardConnections(database.admin, { applicationName: 'closing' })
    const batch = closing.databaseOf(0).query({ text: 'SELECT' })
    await closing.close()
    await batch
    await sleep(300) // in which a connection would be opened
    const { rowCount } = await database.admin.query(
      `SELECT FROM pg_stat_activity WHERE application_name = 'closing'`,
    )
    expect(rowCount).to.equal(0)
  })

  it('leave batches to the coordinator while no server has the shard', async () => {
    await database.admin.query('DELETE FROM pg_dist_placement')
    const shard = connections.databaseOf(1)
    for (let batch = 0; batch < 3; batch++) await shard.query({ text: 'SELECT' })
  })
})

describe('moves that balance a cluster', () => {
  const shard = (n: number, node: string, physical = n) => ({
    shard: n,
    node,
    physical: BigInt(physical),
  })

  it('are none if no node has more than one shard more than another', () => {
    expect(planMoves(['a', 'b'], [shard(0, 'a'), shard(1, 'b'), shard(2, 'a')])).to.deep.equal([])
  })

  it('spread the shards of one node over a new one', () => {
    const shards = [0, 1, 2, 3].map((n) => shard(n, 'a'))
    const moves = planMoves(['a', 'b'], shards)
    expect(moves.map(({ node }) => node)).to.deep.equal(['b', 'b'])
  })

  it('empty a node that may no longer store shards', () => {
    const moves = planMoves(['b', 'c'], [shard(0, 'a'), shard(1, 'a'), shard(2, 'b')])
    expect(moves.map(({ node }) => node).toSorted()).to.deep.equal(['b', 'c'])
  })

  it('move shards that share a physical shard together, if that makes nodes more equal', () => {
    const shards = [shard(0, 'a', 7), shard(1, 'a', 7), shard(2, 'b')]
    expect(planMoves(['a', 'b'], shards)).to.deep.equal([])
    expect(planMoves(['a', 'b'], [...shards, shard(3, 'a'), shard(4, 'a')])).to.deep.equal([
      { shard: 3, node: 'b' },
    ])
    expect(planMoves(['b', 'c'], shards)).to.deep.equal([
      { shard: 0, node: 'c' },
      { shard: 1, node: 'c' },
    ])
  })

  it('move shards from any node, if those of the fullest one move together', () => {
    const together = [0, 1, 2, 3, 4].map((n) => shard(n, 'a', 7))
    const moves = planMoves(['a', 'b', 'c'], [...together, shard(5, 'b'), shard(6, 'b')])
    expect(moves.map(({ node }) => node)).to.deep.equal(['c'])
  })

  it('give nodes about equal numbers of shards, of which up to four share a physical shard', () => {
    const sizes = Array.from({ length: 16 }, (_, n) => 1 + (n % 4))
    const shards = sizes.flatMap((size, physical) =>
      Array.from({ length: size }, (_, n) => shard(4 * physical + n, 'a', physical)),
    )
    const nodes = ['a', 'b', 'c', 'd', 'e']
    const moved = new Map(planMoves(nodes, shards).map((move) => [move.shard, move.node]))
    const places = shards.map((each) => ({ ...each, node: moved.get(each.shard) ?? each.node }))
    for (const node of nodes) {
      expect(places.filter((each) => each.node === node).length).to.be.within(7, 9)
    }
    for (const group of Map.groupBy(places, ({ physical }) => physical).values()) {
      expect(new Set(group.map(({ node }) => node)).size).to.equal(1)
    }
  })

  it('are none without a node', () => {
    expect(planMoves([], [shard(0, 'a')])).to.deep.equal([])
  })
})
