import type { JsonWebKey } from 'node:crypto'
import {
  type CallProof,
  type Cosignature,
  fetchLogProof,
  type LogProof,
  type ProvenLog,
  verifyLogProof,
  type WitnessPolicy,
} from '../../../core/client/index.ts'
import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'
import { readNamedFile } from '../files.ts'
import { checked, policyOf, readKeys, type TrustFlags } from './proof-files.ts'

/** Proofs that logs continue stored checkpoints, as `receipts compare --json` prints them. */
export interface LogProofs {
  readonly proofs: readonly LogProof[]
}

/**
 * Checks that the hub's ledger of today continues what a stored file covers: the proof of a call,
 * an earlier output of this command, or a checkpoint.
 */
export async function compareLog(context: Context, file: string, flags: TrustFlags): Promise<void> {
  const stored = checkpointsIn(await readNamedFile(file))
  if (stored.length === 0) {
    const hint = 'Store one: curl HUB/v1/ledger/trees/heads/checkpoint > checkpoint'
    throw new Failure('usage', `${file} has no checkpoint of a hub's ledger.`, hint)
  }
  const witnesses = policyOf(flags)
  const keys = await readKeys(context, flags.keys)
  const client = context.client()
  const fetchText = async (path: string) => (await client.send(path)).bytes.toString('utf8')
  const proofs: LogProof[] = []
  for (const older of stored) {
    proofs.push(
      await checked(() => fetchLogProof(fetchText, older, keys, witnesses), 'rewritten_log'),
    )
  }
  await printLogs(context, { proofs }, { keys, witnesses })
}

/** Verifies stored proofs offline, and prints what they show. */
export async function printLogs(
  context: Context,
  { proofs }: LogProofs,
  {
    keys,
    witnesses,
  }: { readonly keys: readonly JsonWebKey[]; readonly witnesses: WitnessPolicy | undefined },
): Promise<void> {
  const logs: ProvenLog[] = []
  for (const proof of proofs) {
    logs.push(await checked(() => verifyLogProof(proof, keys, witnesses), 'invalid_proof'))
  }
  if (witnesses && logs.every(({ tree }) => tree !== 'heads')) {
    const text = 'Witnesses cosign the root over all checkpoints, which this file does not have.'
    throw new Failure('error', text, undefined, { code: 'invalid_proof' })
  }
  await context.terminal.result({ valid: true, logs, proofs }, () =>
    [
      'Valid: nothing was changed, removed or reordered.',
      ...logs.map(describeLog),
      ...describeWitnesses(logs.flatMap(({ cosignatures }) => cosignatures)),
    ].join('\n'),
  )
}

/** Describes each cosignature once. */
export const describeWitnesses = (cosignatures: readonly Cosignature[]): readonly string[] => [
  ...new Set(cosignatures.map(({ witness, at }) => `Cosigned by ${witness} at ${at}.`)),
]

const describeLog = ({ tree, older, newer }: ProvenLog): string => {
  const name = tree === 'heads' ? 'Checkpoints of all shards' : `Entries of shard ${tree}`
  return `${name}: ${older.size} at ${older.at}, ${newer.size} at ${newer.at}.`
}

/** Boundary between consecutive notes, with or without empty lines. */
const BETWEEN_NOTES = /(?<=^— .*\n)(?!— )\n*/m

/** Distinct signed notes in the text of a file. */
function checkpointsIn(text: string): readonly string[] {
  if (!text.trimStart().startsWith('{')) {
    return text.split(BETWEEN_NOTES).filter((note) => note.includes('\n\n'))
  }
  const { entries = [], proofs = [] } = parseFile(text)
  const notes = [
    ...entries.flatMap(({ checkpoint, heads }) => [
      checkpoint,
      ...(heads ? [heads.checkpoint] : []),
    ]),
    ...proofs.map(({ newer }) => newer),
  ]
  return [...new Set(notes)]
}

function parseFile(text: string): Partial<CallProof & LogProofs> {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
