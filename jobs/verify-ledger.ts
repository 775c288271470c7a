import type { Pool } from 'pg'
import type { SigningKey } from '../core/crypto/signing-key.ts'
import { verifySince } from '../core/ledger/verify/incremental.ts'
import type { Log } from '../core/log.ts'

/**
 * Verifies the entries posted since the newest checkpoint and signs the next checkpoint. While
 * verification fails, each run logs an error and signs nothing.
 */
export async function verifyLedgerJob({
  pool,
  signingKey,
  log,
}: {
  readonly pool: Pool
  readonly signingKey: SigningKey
  readonly log: Log
}): Promise<void> {
  const { ok, checks, shards } = await verifySince(pool, { key: signingKey })
  if (!ok) {
    const broken = checks.filter(({ bad }) => bad > 0n)
    const failures = broken.map(({ name, bad, example }) => `${name}: ${bad}, first ${example}`)
    log.error({ checks: failures }, 'ledger verification failed: run `npm run ledger -- verify`')
  }
  const behind = shards.filter((shard) => shard.behind > 0n)
  if (behind.length > 0) {
    const rows = behind.map((shard) => `shard ${shard.shard}: ${shard.behind}`)
    log.info({ rows }, 'ledger verification continues in its next run')
  }
}
