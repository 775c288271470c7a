import type { Pool } from 'pg'
import type { RetentionDays } from '../core/audit/retention-policy.ts'
import type { DrillSettings } from '../core/backup/drill-restore.ts'
import type { DiscoveryDeps } from '../core/catalog/listings/discovery/discover.ts'
import type { EmbedDeps } from '../core/catalog/search/semantic/embed-documents.ts'
import type { Catalog } from '../core/catalog/services/catalog.ts'
import type { RecentReads } from '../core/db/recent-reads.ts'
import type { Egress } from '../core/egress/http.ts'
import type { CreditPolicy } from '../core/finance/expire-credits.ts'
import type { Ledger } from '../core/ledger/ledger.ts'
import type { RetainedCheckpoints } from '../core/ledger/retained-checkpoints.ts'
import type { CheckpointDestination } from '../core/ledger/ship-checkpoints.ts'
import type { Witnesses } from '../core/ledger/transparency/witnesses.ts'
import type { Log } from '../core/log.ts'
import type { MailSender } from '../core/mail/queue.ts'
import type { Hex } from '../core/payments/chain/asset.ts'
import type { ResolveDeps } from '../core/payments/operations/resolve.ts'
import type { EnvironmentKeys } from '../core/payments/wallets/environment-keys.ts'
import type { AnyService, Family } from '../core/plugin/index.ts'
import type { SecretKeys } from '../core/secret-keys/secret-keys.ts'
import type { GasSettings } from './gas.ts'
import type { PayoutSettings } from './pay-providers.ts'
import type { OnLowBalance } from './subscribers.ts'

export interface JobDeps extends ResolveDeps {
  readonly pool: Pool
  /** Reads exports. @defaultValue the pool */
  readonly recentReads?: RecentReads
  readonly ledger: Ledger
  readonly log: Log
  /** Undefined if the hub offers no sign-in. */
  readonly mailing?: MailSender
  /** Sends webhooks and reads domain proofs; undefined: neither runs. */
  readonly egress?: Egress
  /** Keys of checkpoints, webhooks and domain proofs. */
  readonly secretKeys: Pick<SecretKeys, 'of' | 'signingKey'>
  /** Checkpoints outside the database. */
  readonly retained: RetainedCheckpoints
  readonly checkpointDestinations?: readonly CheckpointDestination[]
  /** Undefined: no witness cosigns checkpoints. */
  readonly witnesses?: Witnesses | undefined
  /** Handles credits that ran low. @defaultValue logs them */
  readonly onLowBalance?: OnLowBalance
  /** Services and families on sale, with the schedules their plugins declare. */
  readonly services: readonly AnyService[]
  readonly families: readonly Family[]
  /** Subscribes to services added or changed while the hub runs. */
  readonly onSold?: (listener: (service: AnyService) => void) => void
  readonly catalog: Pick<Catalog, 'refresh' | 'refreshAll'>
  /** Undefined: the hub does not discover external listings. */
  readonly discovery?: DiscoveryDeps | undefined
  /** Undefined: no semantic search. */
  readonly embedding?: EmbedDeps | undefined
  /** Platform wallets. */
  readonly wallets: { readonly treasury: Hex; readonly spend: Hex }
  /** Undefined if an external facilitator settles payments and pays gas. */
  readonly gas?: GasSettings | undefined
  /** Wallets whose key is in the environment. */
  readonly environmentKeys?: EnvironmentKeys | undefined
  /** Days after which jobs delete data. */
  readonly retention: RetentionDays
  /** Rule by which credits expire, and connections that may post; undefined: never. */
  readonly credits?: { readonly policy: CreditPolicy; readonly pool: Pool } | undefined
  /** Backups of which restores are rehearsed; undefined: none are. */
  readonly drill?: DrillSettings | undefined
  /** Undefined: no payouts. */
  readonly payouts?: PayoutSettings | undefined
}

export interface Job {
  /** Pause between the end of one run and the start of the next. */
  readonly everySeconds: number
  /**
   * Run time after which another process may take over; sooner if the process died.
   * @defaultValue 300
   */
  readonly deadlineSeconds?: number | undefined
  /** @param stopping aborts when this process stops, or its run was given to another one */
  readonly run: (deps: JobDeps, stopping: AbortSignal) => Promise<unknown>
}
