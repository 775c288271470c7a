import type { Pool } from 'pg'
import { type Lag, subscriberLags } from '../ledger/outbox/subscriber.ts'
import type { WalletName } from '../reconciliation/types.ts'
import { WALLET_NAMES } from '../reconciliation/wallets.ts'

/** Last runs of a job, over all processes. */
export interface JobFigures {
  readonly job: string
  /** Null before its first success. */
  readonly successAgeSeconds: number | null
  /** Null unless the last run failed. */
  readonly failingSeconds: number | null
  readonly failures: bigint
  readonly durationMs: number
  readonly periodSeconds: number
}

/** Pending work of a queue. */
interface QueueFigures {
  readonly queue: 'mail' | 'webhooks' | 'payouts' | 'exports'
  readonly pending: bigint
  readonly oldestSeconds: number
}

/** Operating figures that metrics report. */
export interface OperatingFigures {
  readonly jobs: readonly JobFigures[]
  readonly queues: readonly QueueFigures[]
  /** Seconds since the last complete run of reconciliation, by wallet. */
  readonly reconciled: readonly { readonly wallet: string; readonly ageSeconds: number }[]
  /** Age of the last backup and drill; before the first, that of the installation. */
  readonly backups: readonly { readonly kind: 'backup' | 'drill'; readonly ageSeconds: number }[]
  readonly exceptions: { readonly open: bigint; readonly oldestSeconds: number }
  /** Journal entries that a subscriber has not handled, by its name. */
  readonly subscribers: ReadonlyMap<string, bigint>
  /** Bytes of the log that a replica of the database has not confirmed, by its replication slot. */
  readonly replicas: readonly {
    readonly replica: string
    readonly connected: boolean
    readonly behindBytes: bigint
  }[]
  /** Share of the money in the ledger that is matched with the chain, by age of its entries. */
  readonly matched: readonly { readonly within: string; readonly ratio: number }[]
}

/** Age in whole seconds; NULL for NULL, which `greatest` alone would ignore. */
const AGE = (since: string): string =>
  `(CASE WHEN ${since} IS NOT NULL
    THEN greatest(0, extract(epoch FROM clock_timestamp() - ${since}))::integer END)`

const JOBS = `SELECT job, ${AGE('succeeded_at')} AS "successAgeSeconds", failures,
    ${AGE('failing_since')} AS "failingSeconds", duration_ms AS "durationMs",
    period_seconds AS "periodSeconds"
  FROM hub.job_run ORDER BY job`

const QUEUES = `
  SELECT queue, count(since) AS pending, coalesce(${AGE('min(since)')}, 0) AS "oldestSeconds" FROM (
    SELECT 'mail' AS queue, created_at AS since FROM hub.mail
    UNION ALL SELECT 'webhooks', at FROM hub.webhook_delivery WHERE state = 'pending'
    UNION ALL SELECT 'payouts', started_at FROM hub.payout WHERE state = 'started'
    UNION ALL SELECT 'exports', asked_at FROM hub.export WHERE state = 'waiting'
    UNION ALL SELECT unnest(ARRAY['mail', 'webhooks', 'payouts', 'exports']), NULL) q
  GROUP BY queue ORDER BY queue`

const RECONCILED = `
  SELECT w.wallet, ${AGE('r.at')} AS "ageSeconds"
  FROM unnest($1::text[]) w (wallet)
  CROSS JOIN LATERAL (SELECT at FROM hub.reconciliation x
    WHERE x.wallet = w.wallet AND x.chain_balance IS NOT NULL ORDER BY x.id DESC LIMIT 1) r`

const BACKUPS = `
  SELECT kind, ${AGE('coalesce(b.succeeded_at, (SELECT min(applied_at) FROM hub.migration))')}
    AS "ageSeconds"
  FROM (VALUES ('backup'), ('drill')) k (kind) LEFT JOIN hub.backup_run b USING (kind)`

const EXCEPTIONS = `
  SELECT count(*) AS open, coalesce(${AGE('min(found_at)')}, 0) AS "oldestSeconds"
  FROM hub.reconciliation_exception WHERE resolved_at IS NULL`

/** Replication slots; one that is no longer read fills the disk of the database. */
const REPLICAS = `
  SELECT slot_name AS replica, active AS connected, greatest(0, pg_wal_lsn_diff(
      CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
      coalesce(confirmed_flush_lsn, restart_lsn)))::bigint AS "behindBytes"
  FROM pg_replication_slots
  WHERE NOT temporary AND coalesce(confirmed_flush_lsn, restart_lsn) IS NOT NULL
  ORDER BY slot_name`

/** Share of matched entries among those of the day that ended at the limit. */
const MATCHED = `
  SELECT l.within,
    coalesce(sum(abs(e.amount)) FILTER (WHERE e.matched) / sum(abs(e.amount)), 1)::float8 AS ratio
  FROM (VALUES ('1h', interval '1 hour'), ('24h', interval '24 hours')) l (within, age)
  LEFT JOIN hub.wallet_entry e ON e.amount <> 0 AND e.at <= clock_timestamp() - l.age
    AND e.at > clock_timestamp() - l.age - interval '1 day'
  GROUP BY l.within ORDER BY l.within`

/** Returns the age of the last complete reconciliation of each wallet that has one. */
export async function readReconciled(
  pool: Pool,
  wallets: readonly WalletName[],
): Promise<OperatingFigures['reconciled']> {
  const { rows } = await pool.query<OperatingFigures['reconciled'][number]>(RECONCILED, [wallets])
  return rows
}

/** @param wallets those that are reconciled, without the ones of networks that were removed */
export async function readOperatingFigures(
  pool: Pool,
  wallets: readonly WalletName[] = WALLET_NAMES,
): Promise<OperatingFigures> {
  const [jobs, queues, reconciled, backups, exceptions, matched, replicas, lags] =
    await Promise.all([
      pool.query<JobFigures>(JOBS),
      pool.query<QueueFigures>(QUEUES),
      readReconciled(pool, wallets),
      pool.query<OperatingFigures['backups'][number]>(BACKUPS),
      pool.query<OperatingFigures['exceptions']>(EXCEPTIONS),
      pool.query<OperatingFigures['matched'][number]>(MATCHED),
      pool.query<OperatingFigures['replicas'][number]>(REPLICAS),
      subscriberLags(pool),
    ])
  return {
    jobs: jobs.rows,
    queues: queues.rows,
    reconciled,
    backups: backups.rows,
    exceptions: exceptions.rows[0]!,
    matched: matched.rows,
    replicas: replicas.rows,
    subscribers: sumByName(lags),
  }
}

/** Adds up the shards of each subscriber. */
function sumByName(lags: readonly Lag[]): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const { name, behind } of lags) sums.set(name, (sums.get(name) ?? 0n) + behind)
  return sums
}
