import type { JobFigures, OperatingFigures } from '../../core/finance/operating-figures.ts'
import type { GaugeValues, Samples } from './gauge-values.ts'

/** Gauges of jobs, queues and reconciliation. */
export const operatingGauges = ({
  jobs,
  queues,
  reconciled,
  backups,
  exceptions,
  matched,
  replicas,
  subscribers,
}: OperatingFigures): readonly GaugeValues[] => [
  ...jobGauges(jobs),
  [
    'hub_queue_pending',
    'Pending mails, webhook deliveries, payouts and exports.',
    queues.map(({ queue, pending }) => [{ queue }, pending] as const),
  ],
  [
    'hub_queue_oldest_seconds',
    'Age of the oldest of them.',
    queues.map(({ queue, oldestSeconds }) => [{ queue }, oldestSeconds] as const),
  ],
  [
    'hub_subscriber_behind_entries',
    'Journal entries that a subscriber has not handled.',
    [...subscribers].map(([name, behind]) => [{ name }, behind] as const),
  ],
  [
    'hub_replica_connected',
    '1 if a replica of the database reads its replication slot.',
    replicas.map(({ replica, connected }) => [{ replica }, connected ? 1 : 0] as const),
  ],
  [
    'hub_replica_behind_bytes',
    'Bytes of the database log that a replica has not confirmed; the database stores them.',
    replicas.map(({ replica, behindBytes }) => [{ replica }, behindBytes] as const),
  ],
  [
    'hub_reconciled_seconds',
    'Seconds since the last complete reconciliation of a wallet with the chain.',
    reconciled.map(({ wallet, ageSeconds }) => [{ wallet }, ageSeconds] as const),
  ],
  [
    'hub_backup_seconds',
    'Seconds since the last backup and restore drill that succeeded; before: since installation.',
    backups.map(({ kind, ageSeconds }) => [{ kind }, ageSeconds] as const),
  ],
  ['hub_exceptions_open', 'Differences that nobody has resolved.', exceptions.open],
  ['hub_exception_oldest_seconds', 'Age of the oldest of them.', exceptions.oldestSeconds],
  [
    'hub_money_matched_ratio',
    'Share of the money of one day that is matched with the chain, this long after it was posted.',
    matched.map(({ within, ratio }) => [{ within }, ratio] as const),
  ],
]

/** Name of the label of a job. Prometheus uses `job` for its targets, and would rename ours. */
function jobGauges(jobs: readonly JobFigures[]): readonly GaugeValues[] {
  const byJob = (value: (job: JobFigures) => number | bigint | null): Samples =>
    jobs.flatMap((each) => {
      const found = value(each)
      return found === null ? [] : [[{ name: each.job }, found] as const]
    })
  return [
    [
      'hub_job_success_seconds',
      'Seconds since a job succeeded.',
      byJob((j) => j.successAgeSeconds),
    ],
    ['hub_job_period_seconds', 'Pause between two runs of a job.', byJob((j) => j.periodSeconds)],
    [
      'hub_job_failing_seconds',
      'Seconds since a job fails; 0: it does not.',
      byJob((j) => j.failingSeconds ?? 0),
    ],
    ['hub_job_failures', 'Failed runs of a job, ever.', byJob((j) => j.failures)],
    ['hub_job_seconds', 'Duration of the last recorded run.', byJob((j) => j.durationMs / 1_000)],
  ]
}
