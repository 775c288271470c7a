import type { Pool, PoolClient } from 'pg'
import { monthStart } from '../clock.ts'
import { ConfigError } from '../runtime/config-error.ts'

/** Partition of the call records, or one that was detached. */
export interface CallPartition {
  /** `call_2026_11`; `call_past` for all before the first month, `call_later` for all after. */
  readonly name: string
  readonly isAttached: boolean
  /** True if its detachment was interrupted: detaching it again ends that. */
  readonly isDetaching: boolean
  /** First instant after its calls; null if there is none, or it was detached. */
  readonly until: Date | null
  readonly bytes: bigint
}

/** Age of the newest call in a partition that may be detached; more than RECORD_DAYS_MIN. */
const AGE_MONTHS = 13
const NAME = /^call_(?:past|\d{4}_\d{2})$/

export async function listCallPartitions(
  db: Pick<Pool, 'query'>,
): Promise<readonly CallPartition[]> {
  const { rows } = await db.query<CallPartition>(
    `SELECT c.relname AS name, i.inhrelid IS NOT NULL AND NOT i.inhdetachpending AS "isAttached",
       i.inhdetachpending IS TRUE AS "isDetaching",
       hub.instant_of_call(substring(pg_get_expr(c.relpartbound, c.oid)
         FROM $$TO \\('([0-9a-f-]{36})'$$)::uuid) AS until,
       pg_total_relation_size(c.oid) AS bytes
     FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
     WHERE c.relnamespace = 'hub'::regnamespace AND c.relkind = 'r'
       AND c.relname ~ '^call_(past|later|[0-9]{4}_[0-9]{2})$'
     ORDER BY c.relname <> 'call_past', c.relname`,
  )
  return rows
}

/**
 * Detaches a partition while calls are recorded; its rows stay in a table of their own. What others
 * read from them is stored first: that payments were delivered.
 * @param onBegin called before the partition changes, if it may be detached
 * @throws ConfigError if its calls may still be needed, or it is not attached
 */
export async function detachCalls(
  pool: Pool,
  name: string,
  now: Date,
  onBegin: () => Promise<void>,
): Promise<void> {
  const { until, isAttached, isDetaching } = await findPartition(pool, name)
  if (isDetaching) {
    await onBegin()
    const finish = `ALTER TABLE hub.call DETACH PARTITION hub.${name} FINALIZE`
    await withClient(pool, (client) => client.query(finish))
    return
  }
  if (!isAttached) throw new ConfigError(`${name} is detached already.`)
  if (until === null || until > monthStart(now, -AGE_MONTHS)) {
    throw new ConfigError(`${name} has calls of the last ${AGE_MONTHS} months: it stays attached.`)
  }
  await assertNotNamed(pool, name)
  await onBegin()
  await withClient(pool, async (client) => {
    await client.query(
      `UPDATE hub.payment_claim p SET delivered_at = c.at FROM hub.${name} c
       WHERE c.id = p.call AND c.outcome = 'delivered' AND p.delivered_at IS NULL
         AND NOT p.deposited`,
    )
    await client.query(`ALTER TABLE hub.call DETACH PARTITION hub.${name} CONCURRENTLY`)
  })
}

/** Attaches a detached partition again. The constraint that detaching left proves its range. */
export async function attachCalls(pool: Pool, name: string): Promise<void> {
  const { isAttached, isDetaching } = await findPartition(pool, name)
  if (isAttached) throw new ConfigError(`${name} is attached.`)
  if (isDetaching) throw new ConfigError(interrupted(name))
  const { rows } = await pool.query<{ first: string; next: string }>(
    `SELECT coalesce(quote_literal(substring(d FROM $$id >= '([0-9a-f-]{36})'$$)), 'MINVALUE')
         AS first, quote_literal(substring(d FROM $$id < '([0-9a-f-]{36})'$$)) AS next
     FROM pg_constraint k, pg_get_constraintdef(k.oid) d
     WHERE k.conrelid = $1::regclass AND k.contype = 'c' AND d LIKE '%(id < %'`,
    [`hub.${name}`],
  )
  const { first, next } = rows[0]!
  await pool.query(
    `ALTER TABLE hub.call ATTACH PARTITION hub.${name} FOR VALUES FROM (${first}) TO (${next})`,
  )
}

/**
 * Makes call_later, which has the records of months without a partition, the partition of these and
 * of the next month, and a new call_later, while calls are recorded. Repeat it if interrupted.
 * @returns the name of the partition
 */
export async function splitLaterCalls(pool: Pool): Promise<string> {
  return withClient(pool, async (client) => {
    await client.query(`SET lock_timeout = '1s'; SET timezone = 'UTC'`)
    await client.query(BOUND_LATER)
    await client.query('ALTER TABLE hub.call_later VALIDATE CONSTRAINT call_later_bound')
    await client.query(SPLIT_LATER)
    const { rows } = await client.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid
       WHERE i.inhparent = 'hub.call'::regclass AND c.relname ~ '[0-9]$'
       ORDER BY c.relname DESC LIMIT 1`,
    )
    return rows[0]!.name
  })
}

/** Bounds call_later by a month's start, at least four weeks after now and its newest record. */
const BOUND_LATER = `DO $$ DECLARE
    first text := (SELECT substring(pg_get_expr(relpartbound, oid) FROM '[0-9a-f-]{36}')
      FROM pg_class WHERE oid = 'hub.call_later'::regclass);
    newest timestamptz := (SELECT hub.instant_of_call(id) FROM hub.call_later
      ORDER BY id DESC LIMIT 1);
  BEGIN
    EXECUTE format('ALTER TABLE hub.call_later DROP CONSTRAINT IF EXISTS call_later_bound,
      ADD CONSTRAINT call_later_bound CHECK (id >= %L AND id < %L) NOT VALID', first,
      hub.first_call_id(date_trunc('month', greatest(now(), newest,
        hub.instant_of_call(first::uuid)) + interval '2 months')));
  END $$`

const SPLIT_LATER = `DO $$ DECLARE
    bound text := (SELECT pg_get_constraintdef(oid) FROM pg_constraint
      WHERE conrelid = 'hub.call_later'::regclass AND conname = 'call_later_bound');
    first text := substring(bound FROM $r$>= '([0-9a-f-]{36})'$r$);
    next text := substring(bound FROM $r$< '([0-9a-f-]{36})'$r$);
    partition text := 'call_' || to_char(hub.instant_of_call(first::uuid), 'YYYY_MM');
  BEGIN
    ALTER TABLE hub.call DETACH PARTITION hub.call_later;
    EXECUTE format('ALTER TABLE hub.call_later RENAME TO %I', partition);
    EXECUTE format('ALTER TABLE hub.call ATTACH PARTITION hub.%I FOR VALUES FROM (%L) TO (%L)',
      partition, first, next);
    EXECUTE format('CREATE TABLE hub.call_later PARTITION OF hub.call
      FOR VALUES FROM (%L) TO (MAXVALUE)', next);
    EXECUTE format('ALTER TABLE hub.%I DROP CONSTRAINT call_later_bound', partition);
  END $$`

/** Deletes a detached partition. */
export async function dropCalls(db: Pick<Pool, 'query'>, name: string): Promise<void> {
  await assertDetached(db, name)
  await db.query(`DROP TABLE hub.${name}`)
}

/** @throws ConfigError unless the partition is detached: rows of attached ones may still change */
export async function assertDetached(db: Pick<Pool, 'query'>, name: string): Promise<void> {
  const { isAttached, isDetaching } = await findPartition(db, name)
  if (isAttached) throw new ConfigError(`${name} is attached: detach it first.`)
  if (isDetaching) throw new ConfigError(interrupted(name))
}

const interrupted = (name: string): string =>
  `The detachment of ${name} was interrupted: detach it again.`

/** Finds a partition that may be detached, by its name, which is then safe in SQL. */
async function findPartition(db: Pick<Pool, 'query'>, name: string): Promise<CallPartition> {
  const found = (await listCallPartitions(db)).find((each) => each.name === name)
  if (found && NAME.test(name)) return found
  throw new ConfigError(`No partition ${name} of calls: see "npm run calls -- list".`)
}

/**
 * Names that keys gave requests before `sub_key_naming.since` belong to the key of their call.
 * @throws ConfigError if the records of such calls by sub-keys are in the partition
 */
async function assertNotNamed(pool: Pool, name: string): Promise<void> {
  const { rowCount } = await pool.query(
    `SELECT FROM hub.sub_key_naming n JOIN hub.${name} c ON c.at < n.since
     JOIN hub.idempotent_call a ON a.call = c.id
     JOIN hub.api_key k ON k.id = c.key_id AND k.parent IS NOT NULL LIMIT 1`,
  )
  if (rowCount === 0) return
  throw new ConfigError(
    `${name} is needed to match idempotency keys to sub-keys: it stays attached.`,
  )
}

/** DETACH … CONCURRENTLY waits for transactions longer than statements and locks may take. */
async function withClient<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0')
    return await work(client)
  } finally {
    client.release(true) // with its settings
  }
}
