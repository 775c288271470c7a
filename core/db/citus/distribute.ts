import { type Client, DatabaseError } from 'pg'
import { ConfigError } from '../../runtime/config-error.ts'
import { connectClient } from '../client.ts'
import { acquireMigrationLock } from '../migrate.ts'
import { inTransactionOn } from '../transaction.ts'
import { adaptFunctions } from './adapt-functions.ts'
import { isDistributed } from './is-distributed.ts'
import { createShardFunctions } from './shard-functions.ts'
import { shareRoles } from './share-roles.ts'
import { withoutViews } from './without-views.ts'

/** Number of physical shards: the first 8 shards of the ledger have one each, 64 share 39. */
const PHYSICAL_SHARDS = 64

/** Tables with a copy on every node, because entries refer to their rows. */
const REFERENCE_TABLES = ['asset', 'account', 'kind', 'signing_key'] as const

/** Tables that are distributed by shard, in the order of their foreign keys. */
const SHARD_TABLES = [
  'head',
  'seal',
  'balance',
  'chunk',
  'snapshot',
  'verified_balance',
  'tile',
  'tree',
  'checkpoint',
  'journal',
] as const

/**
 * Checks that a server can distribute the ledger. Changes nothing.
 * @param url login of the owner, direct to the coordinator
 * @throws ConfigError if it does not offer Citus to this login
 */
export async function assertCitus(url: string): Promise<void> {
  const client = await connectClient(url, 'agenthub migrate')
  try {
    await assertExtension(client)
  } finally {
    await client.end()
  }
}

async function assertExtension(client: Client): Promise<void> {
  const { rows } = await client.query<{ isLoaded: boolean; isSuperuser: boolean }>(
    `SELECT current_setting('citus.shard_count', true) IS NOT NULL
         AND EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'citus') AS "isLoaded",
       (SELECT rolsuper FROM pg_roles WHERE rolname = session_user) AS "isSuperuser"`,
  )
  const { isLoaded, isSuperuser } = rows[0]!
  if (!isLoaded) {
    throw new ConfigError(
      'HUB_CLUSTER=citus needs the extension Citus, which this PostgreSQL server does not offer. ' +
        'Install it on every node, add citus to shared_preload_libraries and restart them, or ' +
        'unset HUB_CLUSTER. Nothing was changed.',
    )
  }
  if (!isSuperuser && !(await isDistributed(client))) {
    throw new ConfigError(
      'HUB_CLUSTER=citus needs a superuser in DATABASE_OWNER_URL to distribute the ledger. ' +
        'Nothing was changed.',
    )
  }
}

/**
 * Distributes the ledger by shard over the nodes of a Citus cluster; everything else stays on the
 * coordinator. Safe to repeat: a later run adapts functions that newer migrations have replaced,
 * and creates what nodes lack.
 * @param url login of a superuser, direct to the coordinator
 * @throws ConfigError if a node refuses it
 */
export async function distributeLedger(
  url: string,
  log: (text: string) => void = () => {},
): Promise<void> {
  const client = await connectClient(url, 'agenthub migrate')
  try {
    await acquireMigrationLock(client, 60_000)
    await client.query('SET lock_timeout = 10000; SET client_min_messages = error')
    await client.query('CREATE EXTENSION IF NOT EXISTS citus')
    await modifySequentially(client)
    await joinCoordinator(client)
    await shareRoles(client)
    const isNew = !(await isDistributed(client))
    await inTransactionOn(client, async () => {
      if (isNew) await withoutViews(client, () => distributeTables(client))
      await adaptFunctions(client)
    })
    await createShardFunctions(client)
    log(isNew ? 'ledger distributed by shard' : 'distributed ledger checked')
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
    const message = `The nodes of the cluster are not ready: ${error.message}. Repeat the command.`
    throw new ConfigError(message, { cause: error })
  } finally {
    await client.end()
  }
}

/**
 * Lets a transaction use one connection to each node for a role. By default it modifies each shard
 * of a node on a connection of its own, where it waits for the rows that it has locked on another
 * one, until Citus ends it as a deadlock: payouts post to several shards that they have locked.
 */
async function modifySequentially(client: Client): Promise<void> {
  const database = client.escapeIdentifier(client.database!)
  await client.query(
    `SET citus.enable_ddl_propagation = off;
     ALTER DATABASE ${database} SET citus.multi_shard_modify_mode = 'sequential';
     RESET citus.enable_ddl_propagation`,
  )
}

/** Names the coordinator as other nodes reach it; without workers it stores the shards itself. */
async function joinCoordinator(client: Client): Promise<void> {
  const { rows } = await client.query<{ coordinator: boolean; workers: boolean }>(
    `SELECT coalesce(bool_or(groupid = 0), false) AS coordinator,
       coalesce(bool_or(groupid > 0 AND shouldhaveshards), false) AS workers FROM pg_dist_node`,
  )
  const { coordinator, workers } = rows[0]!
  if (!coordinator) {
    await client.query('SELECT citus_set_coordinator_host($1, $2)', [client.host, client.port])
  }
  if (workers) return
  await client.query(
    `SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true)
     FROM pg_dist_node WHERE groupid = 0`,
  )
}

async function distributeTables(client: Client): Promise<void> {
  await client.query(
    `SET LOCAL citus.enable_unsafe_triggers = on;
     SET LOCAL citus.multi_shard_modify_mode = 'sequential'`,
  )
  await client.query(
    `ALTER TABLE ledger.checkpoint DROP CONSTRAINT checkpoint_shard_seq_fkey;
     ALTER TABLE ledger.journal DROP CONSTRAINT journal_pkey;
     ALTER TABLE ledger.journal ADD PRIMARY KEY (owner, id, phase, shard)`,
  )
  await dropLocalForeignKeys(client)
  for (const table of REFERENCE_TABLES) {
    await client.query('SELECT create_reference_table($1)', [`ledger.${table}`])
  }
  for (const table of SHARD_TABLES) {
    const how =
      table === 'head' ? `shard_count := ${PHYSICAL_SHARDS}` : `colocate_with := 'ledger.head'`
    await client.query(`SELECT create_distributed_table('ledger.${table}', 'shard', ${how})`)
  }
  await client.query(
    `ALTER TABLE ledger.checkpoint ADD CONSTRAINT checkpoint_shard_seq_fkey
       FOREIGN KEY (shard, seq) REFERENCES ledger.seal (shard, seq_to)`,
  )
}

/** Drops foreign keys of tables of the coordinator, which Citus would have to manage as well. */
async function dropLocalForeignKeys(client: Client): Promise<void> {
  const moved = [...REFERENCE_TABLES, ...SHARD_TABLES].map((table) => `ledger.${table}`)
  const { rows } = await client.query<{ drop: string }>(
    `SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS drop
     FROM pg_constraint WHERE contype = 'f' AND conparentid = 0
       AND confrelid = ANY ($1::regclass[]) AND NOT conrelid = ANY ($1::regclass[])`,
    [moved],
  )
  for (const { drop } of rows) await client.query(drop)
}
