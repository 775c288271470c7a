import { Ledger } from '../../../core/ledger/ledger.ts'
import type { Page, Subscriber } from '../../../core/ledger/outbox/subscriber.ts'
import type { FreshDatabase } from '../../support/postgres.ts'

/** Opens a ledger with two shards. */
export async function openTwoShards({ pool }: FreshDatabase): Promise<Ledger> {
  await pool.query('SELECT ledger.open_shard(1::smallint)')
  return new Ledger(pool)
}

/** Lists the journal entries as `shard/seq`. */
export async function journal({ pool }: FreshDatabase): Promise<string[]> {
  return entries(pool, 'ledger.journal', 'shard, seq')
}

/** Creates a subscriber that records each entry in its own table. */
export async function recordingSubscriber(
  { admin, pool }: FreshDatabase,
  name: string,
  then: (page: Page, kill: () => Promise<void>) => Promise<void> = async () => {},
) {
  await admin.query(
    `CREATE TABLE hub.${name} (n bigint GENERATED ALWAYS AS IDENTITY, shard smallint, seq bigint);
     GRANT SELECT, INSERT, DELETE ON hub.${name} TO hub_app`,
  )
  const subscriber: Subscriber = {
    name,
    tables: [`hub.${name}`],
    async handle(client, page) {
      await client.query(
        `INSERT INTO hub.${name} (shard, seq)
         SELECT $1, generate_series($2::bigint, $3::bigint)`,
        [page.shard, page.from, page.to],
      )
      await then(page, async () => {
        const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
        await admin.query('SELECT pg_terminate_backend($1)', [rows[0].pid])
      })
    },
  }
  return {
    subscriber,
    /** Recorded entries in the order of the journal. */
    noted: () => entries(pool, `hub.${name}`, 'shard, seq'),
    /** Recorded entries in the order of handling, by shard. */
    given: () => entries(pool, `hub.${name}`, 'shard, n'),
  }
}

async function entries(pool: FreshDatabase['pool'], table: string, by: string): Promise<string[]> {
  const { rows } = await pool.query<{ entry: string }>(
    `SELECT shard || '/' || seq AS entry FROM ${table} ORDER BY ${by}`,
  )
  return rows.map(({ entry }) => entry)
}

/** Dumps the tables of a subscriber as text. */
export async function dump(
  { pool }: FreshDatabase,
  { tables }: Pick<Subscriber, 'tables'>,
): Promise<string> {
  const texts = tables.map(async (table) => {
    const { rows } = await pool.query<{ line: string }>(
      `SELECT t::text AS line FROM ${table} t ORDER BY 1`,
    )
    return rows.map(({ line }) => line).join('\n')
  })
  return (await Promise.all(texts)).join('\n\n')
}
