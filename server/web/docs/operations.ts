import { html } from '../html.ts'
import { guidePage } from './docs-page.ts'

const SERVICE_AND_LEDGER = html`<h2 id="hub-down">HubDown</h2>
<p><strong>A hub does not answer Prometheus.</strong> The process has ended, hangs, or refuses the
request for its metrics. Read the last lines of its log. Start it; a start that fails says in one
sentence why. If only the metrics fail, compare <code>HUB_METRICS_TOKEN</code> with the token of
Prometheus.</p>
<h2 id="hub-database-down">HubDatabaseDown</h2>
<p><strong>The database does not respond.</strong> Calls end with 503 and charge nothing. Check
the server, its disk and its number of connections (<code>hub_pool_connections</code>). The hub
continues by itself when the database responds.</p>
<h2 id="hub-disk-full">HubDiskFull</h2>
<p><strong>The disk of <code>HUB_DATA_DIR</code> is almost full.</strong> Less than a tenth is free
(<code>hub_disk_free_ratio</code>). Without a <code>DATABASE_URL</code> the database is there, too;
the disk of another database needs an alert of its own. Free space or enlarge the disk: the hub
continues by itself, and so does its database if its supervisor starts it again.</p>
<h2 id="hub-jobs-stopped">HubJobsStopped</h2>
<p><strong>No process runs the jobs, or none ever did.</strong> Open payments, payouts,
verification and reconciliation stand still; outgoing payments pause after ten minutes. Start a
process with <code>npm run jobs</code>, or one without <code>HUB_JOBS=off</code>. A full disk of
the database looks the same, because no run can be recorded.</p>
<h2 id="hub-job-failing">HubJobFailing</h2>
<p><strong>A job fails again and again.</strong> The job named in the label has failed at each run
for five minutes. Search the log for the name of the job: the first line of the outage has the
error.</p>
<h2 id="hub-ledger-unsound">HubLedgerUnsound</h2>
<p><strong>The verification of the ledger found a violation.</strong> Entries, balances,
checkpoints or the audit log do not fit together. Outgoing payments are paused. Do not resume
payments. Run <code>npm run ledger -- verify</code>, which names the rows, and compare with the
stored checkpoints. If rows were altered, restore a backup beside the database and compare.</p>
<h2 id="hub-ledger-not-verified">HubLedgerNotVerified</h2>
<p><strong>The ledger has not been verified for ten minutes.</strong> The job
<code>verify-ledger</code> fails or does not run. See HubJobFailing and HubJobsStopped.</p>
<h2 id="hub-not-reconciled">HubNotReconciled</h2>
<p><strong>The wallets have not been reconciled for ten minutes, or never.</strong> Outgoing
payments are paused, because the chain may know transfers that the ledger does not. Check the node
(HubChainDown) and the job <code>reconcile-chain</code>. After a restart of the database server,
payments go on with the next reconciliation.</p>`

const MONEY = html`<h2 id="hub-reconciliation-exception">HubReconciliationException</h2>
<p><strong>Ledger and chain differ.</strong> A transfer of a platform wallet has no entry, or an
entry no transfer. If money left the spend wallet, outgoing payments are paused. Open
<code>/finance/exceptions</code> or run <code>npm run ledger -- exceptions</code>. Resolve each by
an entry or an explanation, then resume payments.</p>
<h2 id="hub-money-unmatched">HubMoneyUnmatched</h2>
<p><strong>Money is unmatched with the chain after a day.</strong> Some entries of the day before
yesterday have no final transfer. Look at pending payments (<code>npm run payments -- list</code>)
and open exceptions.</p>
<h2 id="hub-outgoing-paused">HubOutgoingPaused</h2>
<p><strong>Outgoing payments are paused.</strong> No seller and no provider is paid. <code>npm run
payments -- status</code> shows who paused them, and why. After a restart of the database server
they resume by themselves.</p>
<h2 id="hub-chain-down">HubChainDown</h2>
<p><strong>The blockchain node does not respond.</strong> Payments by x402 and to sellers end with
503; credits and free calls work. Check the node of <code>RPC_URL</code>, or use another one and
restart.</p>
<h2 id="hub-gas-low">HubGasLow</h2>
<p><strong>The gas wallet needs ETH.</strong> Settlements and payouts end when it is empty. Send
ETH on Base to the gas wallet; <code>npm run payments -- status</code> shows its address.</p>
<h2 id="hub-payment-unresolved">HubPaymentUnresolved</h2>
<p><strong>A payment has been open for two hours.</strong> Its authorization has expired, and the
chain has not shown the outcome. <code>npm run payments -- list</code> shows its next step. Usually
the node is behind, or the job <code>resolve-payments</code> fails.</p>
<h2 id="hub-queue-behind">HubQueueBehind</h2>
<p><strong>Mails or webhook deliveries are an hour behind.</strong> The mail server or the
receivers do not respond. Check <code>SMTP_URL</code> and the log for <code>send-mail</code> and
<code>deliver-webhooks</code>. One receiver that fails is repeated for days and needs nothing.</p>`

const COMPONENTS_AND_LOAD = html`<h2 id="hub-payouts-stuck">HubPayoutsStuck</h2>
<p><strong>A payout has been pending for two hours.</strong> It was sent and neither confirmed
nor expired on the chain. See HubChainDown and HubPaymentUnresolved. The chain accepts the
authorization once, so nothing is paid twice.</p>
<h2 id="hub-component-failing">HubComponentFailing</h2>
<p><strong>Something the hub depends on fails.</strong> Redis, the facilitator, a signer, the mail
server, an index or a job, as the label says. The log has the error with the same
<code>component</code>. While Redis fails, each process counts rate limits by itself.</p>
<h2 id="hub-unhandled-errors">HubUnhandledErrors</h2>
<p><strong>An error that no code handles.</strong> The process drained and was replaced. Report
the log line, which has <code>origin</code> and the stack, as a bug.</p>
<h2 id="hub-errors">HubErrors</h2>
<p><strong>More than 5 % of requests fail.</strong> The hub or a service answers with 5xx. Compare
the routes and services in the dashboard; look at the other alerts first.</p>
<h2 id="hub-event-loop-slow">HubEventLoopSlow</h2>
<p><strong>A process reacts slowly.</strong> Requests wait for the CPU. Start more processes
(<code>HUB_WORKERS</code>) or machines.</p>
<h2 id="hub-pool-waits">HubPoolWaits</h2>
<p><strong>Requests wait for database connections.</strong> The database is slow, or its
connections are too few. Look for long queries in <code>pg_stat_activity</code>, and at the disk
of the database.</p>
<h2 id="hub-replica-behind">HubReplicaBehind</h2>
<p><strong>A replica of the database is away or far behind.</strong> The database stores the log
that the replication slot has not confirmed, until its disk is full. Repair the replica; if it is
gone for good, remove its slot with <code>SELECT pg_drop_replication_slot('…')</code>.</p>
<h2 id="hub-backup-old">HubBackupOld</h2>
<p><strong>The last backup is older than 36 hours.</strong> The timer that runs <code>npm run
backup</code> has stopped, or the command fails; it says why in one sentence. Run it by hand: a
login without <code>REPLICATION</code> and a full or unreachable target are the usual causes.</p>
<h2 id="hub-restore-drill-old">HubRestoreDrillOld</h2>
<p><strong>No restore has been rehearsed for nine days.</strong> Search the log for
<code>drill-restore</code>, and run <code>npm run restore -- --to DIR --verify</code> yourself. Do
not rely on the backups until it succeeds; older ones may still be sound. The job needs
<code>HUB_BACKUP_TARGET</code> and <code>HUB_BACKUP_PASSPHRASE</code>.</p>`

const FAILOVER = html`<h2 id="failover">Failover of the database</h2>
<p><strong>With a synchronous standby, no acknowledged payment is lost.</strong> The files and
commands for three machines with Patroni, etcd and HAProxy are in
<code>server/deploy/README.md</code>. A failover takes up to 30 seconds, and a switchover that you
ask for a few seconds. Meanwhile:</p>
<ul>
<li>Calls and purchases end with 503 and the problem <code>service_unavailable</code>. The member
<code>retryable</code> says whether the hub knows that nothing was charged. If it is false, repeat
the request with the same <code>Idempotency-Key</code>, or look at the receipts of the key. A hold
without an outcome is released when it expires.</li>
<li>The catalog, public pages and statistics come from a replica, if
<code>DATABASE_REPLICA_SECONDS</code> is longer than the failover.</li>
<li>The hub connects again by itself. It leaves a server that refuses to write because it is a
standby now, and it treats a commit that no standby has stored as one of unknown outcome.</li>
<li>Outgoing payments pause until the next reconciliation with the chain, since a database that was
replaced could lack payments. They resume by themselves.</li>
</ul>`

/** `/docs/operations`: failovers, and each alert of `server/deploy/prometheus/alerts.yml`. */
export const operationsGuide = () =>
  guidePage(
    'Guide for operators',
    'For operators',
    html`<p class="lead">What each alert means and what to do. The rules for Prometheus and a
Grafana dashboard are in <code>server/deploy/</code> of the repository.</p>
${SERVICE_AND_LEDGER}${MONEY}${COMPONENTS_AND_LOAD}${FAILOVER}`,
  )
