import type { AgentVerifier } from '../../core/agents/agent-verifier.ts'
import type { Catalog } from '../../core/catalog/services/catalog.ts'
import type { Clock } from '../../core/clock.ts'
import type { ProcessLease } from '../../core/db/process-lease.ts'
import type { KeyRing } from '../../core/identity/keys.ts'
import type { Ledger } from '../../core/ledger/ledger.ts'
import type { Log } from '../../core/log.ts'
import type { Micros } from '../../core/money.ts'
import type { Chain } from '../../core/payments/chain/chain.ts'
import type { PaymentNetwork } from '../../core/payments/networks.ts'
import type { Claims } from '../../core/payments/receiving/claims.ts'
import type { Offers } from '../../core/payments/receiving/offers.ts'
import type { PendingTasks } from '../../core/runtime/pending-tasks.ts'
import type { Slots } from '../../core/runtime/slots.ts'
import type { AccountStatus } from '../../core/usage/account-status.ts'
import type { Allowances } from '../../core/usage/allowances.ts'
import type { CallCharges } from '../../core/usage/call-charges.ts'
import type { CallLog } from '../../core/usage/calls.ts'
import type { FreeQuota } from '../../core/usage/free-quota.ts'
import type { Idempotency } from '../../core/usage/idempotency.ts'
import type { Quotes } from '../../core/usage/quotes.ts'
import type { RateLimits } from '../../core/usage/rate-limit.ts'
import type { Receipts } from '../../core/usage/receipts.ts'
import type { StoredResponses } from '../../core/usage/stored-responses.ts'
import type { ExpectedLengths } from './expected-lengths.ts'
import type { SignInDeps } from './sign-in.ts'

/** Services that the steps of a call share. Created once, at boot. */
export interface CallDeps {
  readonly keys: KeyRing
  readonly limits: RateLimits
  readonly accountStatus: AccountStatus
  readonly agents: Pick<AgentVerifier, 'verify'>
  readonly catalog: Pick<Catalog, 'find'>
  readonly quotes: Pick<Quotes, 'find'>
  readonly idempotency: Idempotency
  readonly lease: Pick<ProcessLease, 'release'>
  readonly responses: StoredResponses
  readonly ledger: Ledger
  readonly freeQuota: FreeQuota
  readonly allowances: Allowances
  readonly claims: Claims
  readonly offers: Offers
  readonly signIns: SignInDeps
  readonly chain: Chain
  /** Further networks on which callers can pay. */
  readonly networks: readonly PaymentNetwork[]
  readonly calls: Pick<CallLog, 'add' | 'find' | 'insert' | 'withdraw'>
  readonly charges: CallCharges
  readonly receipts: Pick<Receipts, 'sign'>
  /** Awaited at shutdown: a stream whose caller has left has no connection to wait for. */
  readonly pendingTasks: PendingTasks
  /** Free calls without a key in progress, by network. */
  readonly keylessCalls: Slots
  readonly expectedLengths: ExpectedLengths
  /** Services that only credits can pay, and that may park the price of a call. */
  readonly creditsOnly: ReadonlySet<string>
  /** Returns the minimum price payable by x402, in microdollars; cheaper calls require credits. */
  readonly minX402: () => Micros
  /** Maximum price that a wallet without earlier payments may pay by x402 after the work. */
  readonly prepaidAbove: Micros
  /** Seconds that a hold outlives its call's deadline. */
  readonly holdMarginSeconds: number
  readonly clock: Clock
  readonly log: Log
}

/** Dependencies for building a 402 response. */
export type PaymentRequiredDeps = Pick<
  CallDeps,
  'offers' | 'signIns' | 'accountStatus' | 'creditsOnly' | 'minX402' | 'prepaidAbove' | 'clock'
>
