import type { Pool } from 'pg'
import { readShards } from '../ledger/shards.ts'
import { readLastVerification } from '../ledger/verify/last-verification.ts'
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

/** Figure of one part of the hub, judged by the limits of the alerts. */
export interface HealthCheck {
  readonly area: (typeof HEALTH_AREAS)[number]
  readonly name: string
  readonly isGood: boolean
  /** Null if there is none, as before the first run of a job. */
  readonly value: number | null
  readonly unit: 'seconds' | 'entries' | 'bytes' | 'percent' | 'count' | 'block'
}

/** Limits in seconds, like those of `server/deploy/prometheus/alerts.yml`. */
const LIMITS = {
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
/** Periods of a job within which it succeeds. */
const JOB_PERIODS = 3
/** Shortest limit of a job, in seconds. */
const JOB_MIN = 180
const REPLICA_BYTES = 2 ** 30

interface ShardState {
  /** Entries without a signed checkpoint. */
  readonly waiting: number
  /** Seconds since the last checkpoint. */
  readonly age: number
}

const SHARD = `
  SELECT (h.seq - coalesce(c.seq, 0))::float8 AS waiting,
    extract(epoch FROM clock_timestamp() - coalesce(c.at, h.at))::float8 AS age
  FROM ledger.head h LEFT JOIN LATERAL (SELECT seq, at FROM ledger.checkpoint x
    WHERE x.shard = $1 ORDER BY x.seq DESC LIMIT 1) c ON true WHERE h.shard = $1`

/** Checkpoints of shards that no signed root covers yet. */
const HEADS = `
  SELECT coalesce((SELECT max(index) + 1 FROM ledger.signed_head), 0)
    - coalesce((SELECT max(size) FROM ledger.heads_checkpoint), 0) AS waiting`

const INDEXES = `
  SELECT count(*) FILTER (WHERE NOT i.indisvalid)::integer AS invalid,
    sum(pg_relation_size(i.indexrelid))::float8 AS bytes
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname IN ('hub', 'ledger')`

/** Reads what the database knows of the health of the hub, in the order of the areas. */
export async function readHubHealth(pool: Pool): Promise<readonly HealthCheck[]> {
  const [shards, heads, indexes, verification, operating] = await Promise.all([
    readShardStates(pool),
    pool.query<{ waiting: bigint }>(HEADS),
    pool.query<{ invalid: number; bytes: number | null }>(INDEXES),
    readLastVerification(pool),
    readOperatingFigures(pool),
  ])
  const { invalid, bytes } = indexes.rows[0]!
  const soundAge = verification?.soundAgeSeconds ?? null
  return [
    ...shards.map(({ shard, ...state }): HealthCheck => {
      const isGood = isSigned(state)
      return { area: 'shards', name: String(shard), isGood, value: state.waiting, unit: 'entries' }
    }),
    {
      area: 'heads',
      name: 'checkpoints outside the tree',
      isGood: shards.every(isSigned),
      value: Number(heads.rows[0]!.waiting),
      unit: 'count',
    },
    {
      ...ageCheck('verification', 'new entries', soundAge, LIMITS.verified),
      ...(verification !== undefined && verification.failures.length > 0 && { isGood: false }),
    },
    ...operatingChecks(operating),
    { area: 'indexes', name: 'invalid', isGood: invalid === 0, value: invalid, unit: 'count' },
    { area: 'indexes', name: 'size of all', isGood: true, value: bytes ?? 0, unit: 'bytes' },
  ]
}

const isSigned = ({ waiting, age }: ShardState): boolean =>
  waiting === 0 || age <= LIMITS.checkpoint

async function readShardStates(pool: Pool) {
  const shards = await readShards(pool)
  return Promise.all(
    shards.map(async (shard) => {
      const { rows } = await pool.query<ShardState>(SHARD, [shard])
      return { shard, ...rows[0]! }
    }),
  )
}

function ageCheck(
  area: HealthCheck['area'],
  name: string,
  value: number | null,
  limit: number,
): HealthCheck {
  return { area, name, isGood: value !== null && value <= limit, value, unit: 'seconds' }
}

const operatingChecks = (found: OperatingFigures): readonly HealthCheck[] => [
  ...found.reconciled.map(({ wallet, ageSeconds }) =>
    ageCheck('reconciliation', wallet, ageSeconds, LIMITS.reconciled),
  ),
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
    ageCheck('queues', queue, oldestSeconds, LIMITS[queue as keyof typeof LIMITS]),
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
