import type { Pool } from 'pg'
import type { SigningKey } from '../core/crypto/signing-key.ts'
import { verifySince } from '../core/ledger/verify/since.ts'
import type { Log } from '../core/log.ts'

/**
 * Verifies what was booked since the newest checkpoint, and signs the next. Books that are not
 * sound are told of every time until somebody has looked at them; nothing is signed meanwhile.
 */
export async function verifyBooks(ports: {
  readonly pool: Pool
  readonly signingKey: SigningKey
  readonly log: Log
}): Promise<void> {
  const { pool, signingKey, log } = ports
  const { ok, checks, shards } = await verifySince(pool, { key: signingKey })
  if (!ok) {
    const broken = checks.filter(({ bad }) => bad > 0n)
    const told = broken.map(({ name, bad, example }) => `${name}: ${bad}, first ${example}`)
    log.error({ checks: told }, 'the books are not sound: run `npm run ledger -- verify`')
  }
  const behind = shards.filter((shard) => shard.behind > 0n)
  if (behind.length > 0) {
    const rows = behind.map((shard) => `shard ${shard.shard}: ${shard.behind}`)
    log.info({ rows }, 'the verification of the books goes on in its next run')
  }
}
