import type { Pool } from 'pg'
import { PgBoss } from 'pg-boss'
import type { Catalog } from '../core/catalog/services/catalog.ts'
import { withTimeout } from '../core/clock.ts'
import type { SigningKey } from '../core/crypto/signing-key.ts'
import type { Egress } from '../core/egress/http.ts'
import { dropExpiredExports } from '../core/finance/export-requests.ts'
import { expireHolds } from '../core/ledger/expire.ts'
import { summarizeDays, takeSnapshots } from '../core/ledger/history/snapshot.ts'
import type { Ledger } from '../core/ledger/ledger.ts'
import { runSubscribers } from '../core/ledger/outbox/run.ts'
import type { Log } from '../core/log.ts'
import type { MailSender } from '../core/mail/queue.ts'
import type { Hex } from '../core/payments/chain/asset.ts'
import { type ResolveDeps, resolvePayments } from '../core/payments/operations/resolve.ts'
import type { AnyService, Family } from '../core/plugin/index.ts'
import { pruneQuotes } from '../core/usage/quotes.ts'
import { pruneWindows } from '../core/usage/windows-database.ts'
import { type DiscoveryDeps, discoveryJobs } from './discover.ts'
import { type EmbeddingDeps, embeddingJobs } from './embed.ts'
import { accountGas, type GasSettings } from './gas.ts'
import { type PayoutSettings, payProviders } from './pay-providers.ts'
import { pluginJobs } from './plugin-jobs.ts'
import { workQueues } from './queues.ts'
import { recheckAll } from './recheck-domains.ts'
import { reconcileChain } from './reconcile-chain.ts'
import { Runner, SUPERVISION } from './runner.ts'
import {
  createSubscribers,
  logLowBalance,
  type OnLowBalance,
  workLowBalanceQueue,
} from './subscribers.ts'
import { verifyLedgerJob } from './verify-ledger.ts'

/** What jobs work with. */
export interface JobDeps extends ResolveDeps, DiscoveryDeps, EmbeddingDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly log: Log
  /** Left out where nobody can sign in. */
  readonly mailing?: MailSender
  /** The way to webhooks; left out: none are delivered. */
  readonly egress?: Egress
  /** Signs the checkpoints of the ledger. */
  readonly signingKey: SigningKey
  /** What is done about credits that run low. @defaultValue a line in the log */
  readonly onLowBalance?: OnLowBalance
  /** What plugins sell, and the schedules that they declare. */
  readonly services: readonly AnyService[]
  readonly families: readonly Family[]
  /** Tells of services that come, or change, meanwhile. */
  readonly onSold?: (listener: (service: AnyService) => void) => void
  readonly catalog: Pick<Catalog, 'refresh' | 'refreshAll'>
  /** The wallets of the house. */
  readonly wallets: { readonly treasury: Hex; readonly spend: Hex }
  /** Left out where somebody else settles, and pays for it. */
  readonly gas?: GasSettings | undefined
  /** Left out where nobody is paid out. */
  readonly payouts?: PayoutSettings | undefined
}

export interface Job {
  readonly everySeconds: number
  /** After it another process may take over; sooner where its process died. @defaultValue 300 */
  readonly deadlineSeconds?: number | undefined
  /** @param stopping aborts when this process stops */
  readonly run: (ports: JobDeps, stopping: AbortSignal) => Promise<unknown>
}

/** So long what is under way may take when the jobs are stopped. */
const STOP_MS = 10_000

/** Everything that happens at its time: name → how often → what. */
export const jobs = {
  'expire-holds': { everySeconds: 5, run: ({ pool, ledger }) => expireHolds(pool, ledger) },
  'resolve-payments': { everySeconds: 5, run: (ports) => resolvePayments(ports) },
  'snapshot-ledger': { everySeconds: 5, run: ({ pool }) => takeSnapshots(pool) },
  'end-days': { everySeconds: 60, deadlineSeconds: 3_600, run: ({ pool }) => summarizeDays(pool) },
  'verify-ledger': { everySeconds: 60, run: verifyLedgerJob },
  'reconcile-chain': { everySeconds: 60, run: reconcileChain },
  'pay-providers': { everySeconds: 30, deadlineSeconds: 1_800, run: payProviders },
  'account-gas': { everySeconds: 60, run: accountGas },
  'make-partitions': {
    everySeconds: 86_400,
    run: ({ pool }) => pool.query('SELECT ledger.ensure_partitions()'),
  },
  'refresh-service-signals': {
    everySeconds: 300,
    run: ({ pool }) => pool.query('SELECT hub.refresh_service_signals()'),
  },
  'recheck-domains': { everySeconds: 60, run: recheckAll },
  'refresh-catalog': {
    everySeconds: 600,
    deadlineSeconds: 1_800,
    run: ({ catalog }) => catalog.refreshAll(),
  },
  'prune-exports': { everySeconds: 3_600, run: ({ pool }) => dropExpiredExports(pool) },
  'prune-answers': {
    everySeconds: 600,
    run: ({ pool }) => pool.query('DELETE FROM hub.kept_answer WHERE expires_at <= now()'),
  },
  'prune-quotes': { everySeconds: 3_600, run: ({ pool }) => pruneQuotes(pool) },
  'prune-claims': {
    everySeconds: 3_600,
    run: ({ pool }) =>
      pool.query(
        `DELETE FROM hub.payment_claim
         WHERE state = 'released' AND valid_before < now() - interval '1 day'`,
      ),
  },
  'prune-sign-ins': {
    everySeconds: 3_600,
    run: ({ pool }) =>
      pool.query(
        `WITH links AS (
           DELETE FROM hub.magic_link WHERE expires_at < now() - interval '1 day')
         DELETE FROM hub.session WHERE expires_at < now()`,
      ),
  },
  'prune-webhooks': {
    everySeconds: 3_600,
    run: ({ pool }) =>
      pool.query(`DELETE FROM hub.webhook_event WHERE at < now() - interval '30 days'`),
  },
  'prune-windows': { everySeconds: 3_600, run: ({ pool }) => pruneWindows(pool) },
  'prune-challenges': {
    everySeconds: 3_600,
    run: ({ pool }) =>
      pool.query(`DELETE FROM hub.challenge WHERE expires_at < now() - interval '1 day'`),
  },
  ...discoveryJobs,
  ...embeddingJobs,
} as const satisfies Readonly<Record<string, Job>>

/**
 * Runs the jobs, and the readers of the journal, until they are stopped, together with any number
 * of other processes: of each job one run is waiting or under way at a time. A run that fails is
 * logged and comes again; what jobs do to money is idempotent by the ledger's keys, so running
 * twice does no harm.
 * @param url database of the owner: pg-boss keeps its own schema
 */
export async function startJobs(url: string, ports: JobDeps): Promise<{ stop(): Promise<void> }> {
  const application_name = 'agenthub jobs'
  const boss = new PgBoss({ connectionString: url, application_name, max: 4, ...SUPERVISION })
  boss.on('error', (error) => ports.log.warn({ err: error }, 'the job queue has trouble'))
  await boss.start()
  const stopping = new AbortController()
  const runner = new Runner(boss, ports, stopping.signal)
  const known = Object.entries<Job>({ ...jobs, ...pluginJobs(ports) })
  for (const [name, job] of known) await runner.put(name, job)
  ports.onSold?.((service) => {
    runner.putService(service).catch((error: unknown) => {
      ports.log.error({ err: error, service: service.slug }, 'what it does by itself does not run')
    })
  })
  const { pool, log, onLowBalance = logLowBalance(log) } = ports
  await workLowBalanceQueue(boss, onLowBalance)
  const readers = await runSubscribers({ pool, subscribers: createSubscribers(boss), log })
  const queues = workQueues(ports, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await readers.stop()
      await Promise.all([
        boss.stop({ graceful: true, timeout: STOP_MS }),
        withTimeout(STOP_MS, queues),
      ])
    },
  }
}
