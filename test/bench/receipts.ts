import { generateKeyPairSync } from 'node:crypto'
import type { Pool } from 'pg'
import { type CallProof, verifyCallProof } from '../../core/client/index.ts'
import { elapsedMs } from '../../core/clock.ts'
import { type SigningKey, signingKeyOf } from '../../core/crypto/signing-key.ts'
import { type ProvenEntry, proveEntries } from '../../core/ledger/transparency/entry-proofs.ts'
import { extendTrees } from '../../core/ledger/transparency/extend-trees.ts'
import { verifySince } from '../../core/ledger/verify/incremental.ts'
import { cpuMeter } from './cpu-meter.ts'
import { load, rounded } from './load.ts'
import { atLeast, below, type Report, type Target } from './report.ts'
import { withBulkLedger } from './with-bulk-ledger.ts'

const ENTRIES = 10_000_000
const BATCH = 200
const OPTIONS = {
  shards: 2,
  agents: 10_000,
  providers: 100,
  batch: BATCH,
  start: new Date('2026-11-01T00:00:00Z'),
  stepMs: 60_000,
}
const CONNECTIONS = 2
const SECONDS = 10
/** Entries whose proofs are requested in random order. */
const SAMPLE = 5_000
const GOALS = { leavesPerSecond: 200_000, proofMs: 5, verificationMs: 1 }

/** Builds the Merkle trees of a large journal, proves its entries and verifies the proofs. */
export async function receipts(entries = String(ENTRIES)): Promise<Report> {
  const batches = Math.ceil(Number(entries) / BATCH / OPTIONS.shards)
  const options = { ...OPTIONS, batches, connections: CONNECTIONS }
  return withBulkLedger(options, async ({ owner, hub, books }) => {
    await books.load(batches)
    await owner.query('VACUUM ANALYZE ledger.journal')
    const cpu = await cpuMeter(owner)
    const [start, cpuBefore] = [elapsedMs(), cpu()]
    const built = await extendTrees(hub)
    const perSecond = rounded((built * 1_000) / (elapsedMs() - start), 0)
    const cpuUs = rounded(((cpu() - cpuBefore) * 1e6) / built, 2)
    await owner.query('VACUUM ANALYZE ledger.tile')
    const key = signingKeyOf(generateKeyPairSync('ed25519').privateKey)
    await signAll(hub, key)
    const building = { leaves_per_s: perSecond, cpu_us_per_leaf: cpuUs }
    const figures = { entries: built, ...building, ...(await measure(hub, key)) }
    return { name: 'receipts', figures, targets: targetsOf(figures) }
  })
}

async function signAll(pool: Pool, key: SigningKey): Promise<void> {
  for (let behind = true; behind; ) {
    const { ok, shards } = await verifySince(pool, { key })
    if (!ok) throw new Error('the ledger is not sound')
    behind = shards.some((shard) => shard.behind > 0n)
  }
}

interface Sample {
  readonly id: string
  readonly shard: number
  readonly owner: bigint
}

/** Proofs from the database, and their verification without it. */
async function measure(pool: Pool, key: SigningKey) {
  const { rows } = await pool.query<Sample>(
    `SELECT id, shard, owner FROM ledger.journal WHERE phase = 2
       AND seq IN (SELECT (random() * (SELECT max(seq) FROM ledger.head))::bigint
         FROM generate_series(1, $1::integer))`,
    [SAMPLE],
  )
  const proofOfAny = async () => {
    const { id, shard, owner } = rows[Math.floor(Math.random() * rows.length)]!
    const entries = await proveEntries(pool, id, { shard, id: owner })
    if (entries.length < 2) throw new Error(`the proof of ${id} lacks entries`)
    return { id, entry: entries.at(-1)! }
  }
  const prove = async (): Promise<void> => void (await proofOfAny())
  await load(1, 1, prove)
  const proving = await load(1, SECONDS, prove)
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.publicKey.toString('base64url') }
  const proof = await callProof(key, await proofOfAny())
  const verify = async (): Promise<void> => void verifyCallProof(proof, [jwk])
  await load(1, 1, verify)
  const verifying = await load(1, 2, verify)
  return {
    hashes_in_path: proof.entries[0]!.path.length,
    proof_p50_ms: rounded(proving.p50Ms, 2),
    proof_p99_ms: rounded(proving.p99Ms, 2),
    verification_p50_ms: rounded(verifying.p50Ms, 3),
    verification_p99_ms: rounded(verifying.p99Ms, 3),
  }
}

/** Proof of one entry of a call, with a receipt. */
async function callProof(
  key: SigningKey,
  {
    id,
    entry: { index, row, path, checkpoint, heads },
  }: { readonly id: string; readonly entry: ProvenEntry },
): Promise<CallProof> {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const head = part({ alg: 'EdDSA', kid: key.id, typ: 'agenthub-receipt+jws' })
  const signed = `${head}.${part({ ledger_entry: id, charged_microdollars: 0 })}`
  const signature = key.sign(Buffer.from(signed))
  const entry = {
    leaf_index: index,
    row: row.toString('base64'),
    path: toBase64(path),
    checkpoint,
    heads: { ...heads, leaf_index: heads.index, path: toBase64(heads.path) },
  }
  return { receipt: `${signed}.${signature.toString('base64url')}`, entries: [entry] }
}

const toBase64 = (hashes: readonly Buffer[]): string[] =>
  hashes.map((hash) => hash.toString('base64'))

function targetsOf(figures: {
  readonly leaves_per_s: number
  readonly proof_p99_ms: number
  readonly verification_p99_ms: number
}): Target[] {
  const { leaves_per_s: rate, proof_p99_ms: proof, verification_p99_ms: verified } = figures
  return [
    atLeast('leaves added to the stored trees per second', rate, GOALS.leavesPerSecond),
    below('proof of all entries of a call, p99 in ms', proof, GOALS.proofMs),
    below('offline verification of a proof, p99 in ms', verified, GOALS.verificationMs),
  ]
}
