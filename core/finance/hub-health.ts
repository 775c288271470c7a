import type { Pool } from 'pg'
import { readShards } from '../ledger/shards.ts'
import { readLastVerification } from '../ledger/verify/last-verification.ts'
import { readUnverified } from '../ledger/verify/unverified.ts'
import type { WalletName } from '../reconciliation/types.ts'
import { type OperatingFigures, readOperatingFigures } from './operating-figures.ts'

export const HEALTH_AREAS = [
  'shards',
  'heads',
  'verification',
  'reconciliation',
  'jobs',
  'queues',
  'subscribers',
  'replicas',
  'backups',
  'indexes',
  'disk',
  'chain',
] as const

/** Figure of one part of the hub, judged by the limit of its alert if there is one. */
export interface HealthCheck {
  readonly area: (typeof HEALTH_AREAS)[number]
  readonly name: string
  readonly isGood: boolean
  /** Null if there is none, as before the first run of a job. */
  readonly value: number | null
  readonly unit: 'seconds' | 'entries' | 'bytes' | 'percent' | 'count' | 'block'
}

/** Limits in seconds; those of `server/deploy/prometheus/alerts.yml` where it has an alert. */
export const LIMITS = {
  checkpoint: 600,
  verified: 600,
  reconciled: 600,
  failing: 300,
  mail: 3_600,
  webhooks: 3_600,
  exports: 3_600,
  payouts: 7_200,
  backup: 129_600,
  drill: 777_600,
} as const
/** Number of periods within which a job must succeed. */
const JOB_PERIODS = 3
/** Shortest limit of a job, in seconds. */
const JOB_MIN = 180
export const REPLICA_BYTES = 2 ** 30

/** Entries or checkpoints that are not signed yet. */
interface Unsigned {
  readonly waiting: number
  /** Seconds since the oldest of it was written; null if nothing waits. */
  readonly age: number | null
}

/** The oldest checkpoint of a shard that no signed root covers, and the number of all. */
const HEADS = `
  SELECT count(*) OVER ()::float8 AS waiting, shard, seq, audit FROM ledger.signed_head
  WHERE index >= (SELECT coalesce(max(size), 0) FROM ledger.heads_checkpoint)
  ORDER BY index LIMIT 1`

const CHECKPOINT_AGE = `
  SELECT extract(epoch FROM clock_timestamp() - at)::float8 AS age FROM ledger.checkpoint
  WHERE shard = $1 AND seq = $2 AND audit = $3`

const INDEXES = `
  SELECT count(*) FILTER (WHERE NOT i.indisvalid)::integer AS invalid,
    sum(pg_relation_size(i.indexrelid))::float8 AS bytes
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname IN ('hub', 'ledger')`

/**
 * Reads the health of the hub, as far as the database shows it, in the order of the areas.
 * @param wallets those that are reconciled
 */
export async function readHubHealth(
  pool: Pool,
  wallets: readonly WalletName[],
): Promise<readonly HealthCheck[]> {
  const [shards, heads, indexes, verification, operating] = await Promise.all([
    readShardStates(pool),
    readHeadsState(pool),
    pool.query<{ invalid: number; bytes: number | null }>(INDEXES),
    readLastVerification(pool),
    readOperatingFigures(pool, wallets),
  ])
  const { invalid, bytes } = indexes.rows[0]!
  const soundAge = verification?.soundAgeSeconds ?? null
  return [
    ...shards.map(({ shard, ...state }): HealthCheck => {
      const [isGood, value] = [isInTime(state), state.waiting]
      return { area: 'shards', name: String(shard), isGood, value, unit: 'entries' }
    }),
    {
      area: 'heads',
      name: 'checkpoints outside the tree',
      isGood: isInTime(heads),
      value: heads.waiting,
      unit: 'count',
    },
    {
      ...ageCheck('verification', 'new entries', soundAge, LIMITS.verified),
      ...(verification !== undefined && verification.failures.length > 0 && { isGood: false }),
    },
    ...operatingChecks(operating, wallets),
    { area: 'indexes', name: 'invalid', isGood: invalid === 0, value: invalid, unit: 'count' },
    { area: 'indexes', name: 'size of all', isGood: true, value: bytes ?? 0, unit: 'bytes' },
  ]
}

const isInTime = ({ age }: Unsigned): boolean => (age ?? 0) <= LIMITS.checkpoint

async function readShardStates(pool: Pool) {
  const shards = await readShards(pool)
  return Promise.all(
    shards.map(async (shard) => {
      const { entries, ageSeconds } = await readUnverified(pool, shard)
      return { shard, waiting: Number(entries), age: ageSeconds }
    }),
  )
}

async function readHeadsState(pool: Pool): Promise<Unsigned> {
  const { rows } = await pool.query<{ waiting: number; shard: number; seq: bigint; audit: bigint }>(
    HEADS,
  )
  const [oldest] = rows
  if (!oldest) return { waiting: 0, age: null }
  const { waiting, shard, seq, audit } = oldest
  const found = await pool.query<{ age: number }>(CHECKPOINT_AGE, [shard, seq, audit])
  return { waiting, age: found.rows[0]?.age ?? null }
}

function ageCheck(
  area: HealthCheck['area'],
  name: string,
  value: number | null,
  limit: number,
): HealthCheck {
  return { area, name, isGood: value !== null && value <= limit, value, unit: 'seconds' }
}

const operatingChecks = (
  found: OperatingFigures,
  wallets: readonly WalletName[],
): readonly HealthCheck[] => [
  ...wallets.map((wallet) => {
    const done = found.reconciled.find((each) => each.wallet === wallet)
    return ageCheck('reconciliation', wallet, done?.ageSeconds ?? null, LIMITS.reconciled)
  }),
  {
    area: 'reconciliation',
    name: 'open exceptions',
    isGood: found.exceptions.open === 0n,
    value: Number(found.exceptions.open),
    unit: 'count',
  },
  ...found.jobs.map(({ job, successAgeSeconds, failingSeconds, periodSeconds }): HealthCheck => {
    const limit = Math.max(JOB_MIN, JOB_PERIODS * periodSeconds)
    const check = ageCheck('jobs', job, successAgeSeconds, limit)
    return { ...check, isGood: check.isGood && (failingSeconds ?? 0) <= LIMITS.failing }
  }),
  ...found.queues.map(({ queue, oldestSeconds }) =>
    ageCheck('queues', queue, oldestSeconds, LIMITS[queue]),
  ),
  ...[...found.subscribers].map(
    ([name, behind]): HealthCheck => ({
      area: 'subscribers',
      name,
      isGood: true,
      value: Number(behind),
      unit: 'entries',
    }),
  ),
  ...found.replicas.map(
    ({ replica, connected, behindBytes }): HealthCheck => ({
      area: 'replicas',
      name: replica,
      isGood: connected && behindBytes <= REPLICA_BYTES,
      value: Number(behindBytes),
      unit: 'bytes',
    }),
  ),
  ...found.backups.map(({ kind, ageSeconds }) =>
    ageCheck('backups', kind, ageSeconds, LIMITS[kind]),
  ),
]
