import type { Pool } from 'pg'
import { readShards } from './shards.ts'
import {
  auditChainCheck,
  CheckpointVerifier,
  journalBalancesCheck,
  signedBalancesCheck,
  type TrustAnchors,
} from './verify/checkpoints.ts'
import {
  balanceChecks,
  balanceSumChecks,
  type Checks,
  DAY_END_CHECK,
  orderChecks,
  periodChecks,
  postingSums,
  type Scope,
  snapshotCheck,
} from './verify/checks.ts'
import { Findings, type Verification } from './verify/findings.ts'
import { verifyHeads } from './verify/heads.ts'
import { verifyTree } from './verify/merkle-tree.ts'
import { checkPartitions } from './verify/partitions.ts'
import { readHeads, readParts, readPeriods } from './verify/parts.ts'
import { checkReferences } from './verify/references.ts'
import { inSnapshot, runChecks } from './verify/run-checks.ts'

export type { Verification } from './verify/findings.ts'

const partChecks = (part: Scope, periods: string): Checks => ({
  ...balanceChecks(part),
  ...balanceSumChecks(postingSums(part), part),
  ...orderChecks(part),
  ...periodChecks(part, periods),
})

/**
 * Verifies the whole ledger on one snapshot, without blocking calls: rebuilds every balance from
 * the journal and checks rows, holds, the sequence, the seal chain, every checkpoint, the audit log
 * and references from `hub`. `npm run bench -- ledger-history` measures how long it takes.
 * @throws Error if the database cannot be read; a broken ledger is a result, not an error
 */
export async function verifyLedger(pool: Pool, trust: TrustAnchors = {}): Promise<Verification> {
  const findings = new Findings()
  await inSnapshot(pool, 'READ ONLY', async (client) => {
    const shards = await readShards(client)
    const parts = await readParts(client, shards)
    const periods = await readPeriods(client)
    for (const part of parts) await runChecks(client, partChecks(part, periods), findings)
    const heads = await readHeads(client)
    for (const [shard, head] of heads) {
      await runChecks(client, snapshotCheck(shard, head), findings)
    }
    await runChecks(client, { ...DAY_END_CHECK, ...auditChainCheck() }, findings)
    await checkPartitions(client, shards, parts, findings)
    const reader = await CheckpointVerifier.open(client, findings, trust)
    const newest = await reader.checkAll()
    const external = await reader.checkExternal(trust.checkpoints ?? '')
    await checkReferences(client, shards, findings)
    for (const shard of shards) {
      const stored = newest.get(shard)
      await runChecks(client, signedBalancesCheck(shard, stored), findings)
      const outside = external.get(shard)
      await verifyTree(client, shard, { others: outside ? [outside] : [] }, findings)
      if (outside && outside.text !== stored?.text) {
        await runChecks(client, journalBalancesCheck(outside), findings)
      }
    }
    await verifyHeads(client, trust, findings)
  })
  return findings.result()
}
