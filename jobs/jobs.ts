import { deleteExpired } from '../core/audit/retention.ts'
import type { DeletionName } from '../core/audit/retention-policy.ts'
import { drillRestore } from '../core/backup/drill-restore.ts'
import { recheckDomains } from '../core/catalog/domains/proof.ts'
import {
  type DiscoveryDeps,
  discoverAgents,
  discoverIndexes,
  discoverOrigins,
  discoverTransfers,
} from '../core/catalog/listings/discovery/discover.ts'
import { probeDue } from '../core/catalog/listings/probe/probe-due.ts'
import {
  deleteUnusedEmbeddings,
  embedDocuments,
} from '../core/catalog/search/semantic/embed-documents.ts'
import { expireCredits } from '../core/finance/expire-credits.ts'
import { dropExpiredExports } from '../core/finance/export-requests.ts'
import { expireHolds } from '../core/ledger/expire.ts'
import { summarizeDays, takeSnapshots } from '../core/ledger/history/snapshot.ts'
import { extendTrees } from '../core/ledger/transparency/extend-trees.ts'
import { cosignHeads } from '../core/ledger/transparency/witnesses.ts'
import { pruneTransactions } from '../core/payments/facilitators/stored-outbox.ts'
import { resolveNetworkPayments, resolvePayments } from '../core/payments/operations/resolve.ts'
import { pruneClaims } from '../core/payments/receiving/prune-claims.ts'
import { checkEnvironmentKeys } from '../core/payments/wallets/environment-keys.ts'
import { recoverCalls } from '../core/usage/recover-calls.ts'
import { pruneWindows } from '../core/usage/windows-database.ts'
import { accountGas } from './gas.ts'
import type { Job, JobDeps } from './job.ts'
import { payProviders } from './pay-providers.ts'
import { reconcileNetworks, reconcileWhenDue } from './reconcile-chain.ts'
import { verifyFullyJob, verifyWhenDue } from './verify-ledger.ts'

/** Runs discovery work, unless the hub does not discover listings. */
const ifDiscovering =
  (work: (deps: DiscoveryDeps) => Promise<unknown>): Job['run'] =>
  async ({ discovery }, stopping) =>
    discovery && work({ ...discovery, stopping })

/** Deletes the data that the retention policy allows to delete. */
const deleting =
  (...names: readonly DeletionName[]): Job['run'] =>
  async ({ pool, retention }) => {
    for (const name of names) await deleteExpired(pool, name, retention)
  }

/** Rechecks due domain proofs; refreshes services whose proof expired, which unlists them. */
async function recheckProofs({ pool, egress, secretKeys, catalog }: JobDeps): Promise<void> {
  if (!egress) return
  const expired = await recheckDomains({ pool, egress, proofKeys: secretKeys.of('domain-proofs') })
  for (const slug of expired) await catalog.refresh(slug)
}

/** Jobs of hubs whose callers can pay on further networks, by name. */
export const networkJobs = {
  'resolve-network-payments': { everySeconds: 2, run: (deps) => resolveNetworkPayments(deps) },
  'reconcile-networks': { everySeconds: 55, run: reconcileNetworks },
} as const satisfies Readonly<Record<string, Job>>

/** Scheduled jobs of the platform, by name. */
export const jobs = {
  'expire-holds': { everySeconds: 5, run: ({ pool, ledger }) => expireHolds(pool, ledger) },
  'resolve-payments': { everySeconds: 2, run: (deps) => resolvePayments(deps) },
  'recover-calls': {
    everySeconds: 60,
    run: ({ pool, ledger, log }) => recoverCalls(pool, ledger, log),
  },
  'snapshot-ledger': { everySeconds: 5, run: ({ pool }) => takeSnapshots(pool) },
  'extend-trees': {
    everySeconds: 10,
    deadlineSeconds: 3_600,
    run: ({ pool }, stopping) => extendTrees(pool, stopping),
  },
  'end-days': { everySeconds: 60, deadlineSeconds: 3_600, run: ({ pool }) => summarizeDays(pool) },
  'verify-ledger': {
    everySeconds: 10,
    run: ({ secretKeys, ...deps }) =>
      verifyWhenDue({ ...deps, signingKey: secretKeys.signingKey() }),
  },
  'cosign-checkpoints': {
    everySeconds: 20,
    run: async ({ witnesses, ...deps }) => witnesses && cosignHeads({ ...deps, ...witnesses }),
  },
  'verify-ledger-fully': { everySeconds: 3_600, deadlineSeconds: 21_600, run: verifyFullyJob },
  'reconcile-chain': { everySeconds: 5, run: reconcileWhenDue },
  'drill-restore': {
    everySeconds: 3_600,
    deadlineSeconds: 21_600,
    run: async ({ pool, drill }) => drill && drillRestore(pool, drill),
  },
  'pay-providers': { everySeconds: 30, deadlineSeconds: 1_800, run: payProviders },
  'expire-credits': {
    everySeconds: 3_600,
    run: async ({ credits, ...deps }, stopping) =>
      credits && expireCredits({ ...deps, pool: credits.pool }, credits.policy, stopping),
  },
  'account-gas': { everySeconds: 60, run: accountGas },
  'check-wallet-keys': { everySeconds: 60, run: checkEnvironmentKeys },
  'make-partitions': {
    everySeconds: 86_400,
    run: async ({ pool }) => {
      await pool.query('SELECT ledger.ensure_partitions()')
      await pool.query('SELECT hub.ensure_call_partitions()')
    },
  },
  'refresh-service-signals': {
    everySeconds: 300,
    run: ({ pool }) => pool.query('SELECT hub.refresh_service_signals()'),
  },
  'recheck-domains': { everySeconds: 60, run: recheckProofs },
  'refresh-catalog': {
    everySeconds: 600,
    deadlineSeconds: 1_800,
    run: ({ catalog }) => catalog.refreshAll(),
  },
  'prune-exports': {
    everySeconds: 3_600,
    run: ({ pool, retention }) => dropExpiredExports(pool, retention.exports),
  },
  'prune-answers': {
    everySeconds: 600,
    run: ({ pool }) =>
      pool.query(
        `WITH abandoned AS (
           DELETE FROM hub.abandoned_attempt a USING hub.idempotent_call i
           WHERE i.id = a.request AND i.done AND a.at < now() - interval '1 day')
         DELETE FROM hub.kept_answer WHERE expires_at <= now()`,
      ),
  },
  'prune-quotes': { everySeconds: 3_600, run: deleting('quotes') },
  'prune-claims': { everySeconds: 3_600, run: ({ pool }) => pruneClaims(pool) },
  'prune-transactions': { everySeconds: 3_600, run: ({ pool }) => pruneTransactions(pool) },
  'prune-sign-ins': {
    everySeconds: 3_600,
    run: deleting('sign-in-links', 'sessions'),
  },
  'prune-webhooks': {
    everySeconds: 3_600,
    run: deleting('webhook-events'),
  },
  'prune-windows': { everySeconds: 60, run: ({ pool }) => pruneWindows(pool) },
  'prune-challenges': {
    everySeconds: 3_600,
    run: deleting('challenges', 'used-sign-ins', 'used-agent-nonces'),
  },
  'discover-indexes': {
    everySeconds: 60,
    deadlineSeconds: 900,
    run: ifDiscovering(discoverIndexes),
  },
  'discover-origins': {
    everySeconds: 60,
    deadlineSeconds: 900,
    run: ifDiscovering(discoverOrigins),
  },
  'discover-agents': { everySeconds: 30, run: ifDiscovering(discoverAgents) },
  'discover-transfers': { everySeconds: 60, run: ifDiscovering(discoverTransfers) },
  'probe-listings': { everySeconds: 10, run: ifDiscovering(probeDue) },
  'prune-probes': { everySeconds: 86_400, run: deleting('probes') },
  'embed-documents': {
    everySeconds: 30,
    deadlineSeconds: 900,
    run: async ({ embedding }, stopping) => embedding && embedDocuments(embedding, stopping),
  },
  'forget-meanings': {
    everySeconds: 86_400,
    run: async ({ embedding }) => embedding && deleteUnusedEmbeddings(embedding),
  },
} as const satisfies Readonly<Record<string, Job>>
