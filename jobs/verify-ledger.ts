import type { Pool } from 'pg'
import { elapsedMs } from '../core/clock.ts'
import type { SigningKey } from '../core/crypto/signing-key.ts'
import type { RetainedCheckpoints } from '../core/ledger/retained-checkpoints.ts'
import { type CheckpointDestination, shipCheckpoints } from '../core/ledger/ship-checkpoints.ts'
import { readLedgerId } from '../core/ledger/verify/checkpoints.ts'
import type { Verification } from '../core/ledger/verify/findings.ts'
import { verifySince } from '../core/ledger/verify/incremental.ts'
import {
  isFullVerificationDue,
  isVerificationDue,
  readLastVerification,
  recordVerification,
} from '../core/ledger/verify/last-verification.ts'
import { trustRetained } from '../core/ledger/verify/trust-retained.ts'
import { verifyLedger } from '../core/ledger/verify.ts'
import type { Log } from '../core/log.ts'
import { OutgoingSwitch } from '../core/payments/operations/outgoing-switch.ts'

/** Author of a pause of outgoing payments after a failed verification. */
const AUTHOR = 'verify-ledger'
const REASON_MAX = 500

/**
 * Verifies the entries posted since the newest checkpoint and signs the next checkpoint. While
 * verification fails, each run logs an error, signs nothing and pauses outgoing payments. While the
 * last verification of all entries failed, each run logs that and pauses them too.
 */
export async function verifyLedgerJob({
  pool,
  signingKey,
  retained,
  checkpointDestinations: destinations = [],
  log,
}: {
  readonly pool: Pool
  readonly signingKey: SigningKey
  readonly retained: RetainedCheckpoints
  readonly checkpointDestinations?: readonly CheckpointDestination[]
  readonly log: Log
}): Promise<void> {
  const result = await verifySince(pool, { key: signingKey, retained })
  await raiseAlarm({ pool, log }, result)
  if (result.ok && destinations.length > 0) {
    await shipCheckpoints({ retained, log }, await readLedgerId(pool), destinations)
  }
  const behind = result.shards.filter((shard) => shard.behind > 0n)
  if (behind.length > 0) {
    const rows = behind.map((shard) => `shard ${shard.shard}: ${shard.behind}`)
    log.info({ rows }, 'ledger verification continues in its next run')
  }
}

/** Runs `verifyLedgerJob` each minute, and sooner if there are many new entries. */
export async function verifyWhenDue(options: Parameters<typeof verifyLedgerJob>[0]): Promise<void> {
  if (await isVerificationDue(options.pool)) await verifyLedgerJob(options)
}

/**
 * Verifies all entries once a day, including those that `verifyLedgerJob` has verified: finds rows
 * that were changed later without their seals.
 */
export async function verifyFullyJob({
  pool,
  retained,
  log,
}: {
  readonly pool: Pool
  readonly retained: RetainedCheckpoints
  readonly log: Log
}): Promise<void> {
  if (!(await isFullVerificationDue(pool))) return
  const start = elapsedMs()
  const result = await verifyLedger(pool, await trustRetained(pool, retained))
  await raiseAlarm({ pool, log }, result, 'all')
  const seconds = Math.round((elapsedMs() - start) / 1_000)
  log.info({ ok: result.ok, seconds }, 'verified all entries of the ledger')
}

/**
 * Stores the result of a verification. If it failed, or the last one of all entries did, logs it
 * and pauses outgoing payments.
 */
async function raiseAlarm(
  { pool, log }: { readonly pool: Pool; readonly log: Log },
  result: Verification,
  scope: 'new' | 'all' = 'new',
): Promise<void> {
  await recordVerification(pool, result, scope)
  const failures = (await readLastVerification(pool))?.failures ?? []
  if (failures.length === 0) return
  log.error({ checks: failures }, 'ledger verification failed: run `npm run ledger -- verify`')
  const reason = `Ledger verification failed. ${failures.join('; ')}`
  await new OutgoingSwitch(pool).pause(AUTHOR, reason.slice(0, REASON_MAX))
}
