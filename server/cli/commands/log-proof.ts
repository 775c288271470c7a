import type { JsonWebKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import {
  type CallProof,
  fetchLogProof,
  type LogProof,
  type ProvenLog,
  verifyLogProof,
} from '../../../core/client/index.ts'
import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'
import { checked, readKeys } from './proof-files.ts'

/** Proofs that logs continue stored checkpoints, as `receipts compare --json` prints them. */
export interface LogProofs {
  readonly proofs: readonly LogProof[]
}

/**
 * Checks that the hub's ledger of today continues what a stored file covers: the proof of a call,
 * an earlier output of this command, or a checkpoint.
 */
export async function compareLog(
  context: Context,
  file: string,
  { keys: keysFile }: { readonly keys?: string } = {},
): Promise<void> {
  const stored = checkpointsIn(await readText(file))
  if (stored.length === 0) {
    const hint = 'Store one: curl HUB/v1/ledger/trees/heads/checkpoint > checkpoint'
    throw new Failure('usage', `${file} has no checkpoint of a hub's ledger.`, hint)
  }
  const keys = await readKeys(context, keysFile)
  const client = context.client()
  const fetchText = async (path: string) => (await client.send(path)).bytes.toString('utf8')
  const proofs: LogProof[] = []
  for (const older of stored) {
    proofs.push(await checked(() => fetchLogProof(fetchText, older, keys), 'rewritten_log'))
  }
  await printLogs(context, { proofs }, keys)
}

/** Verifies stored proofs offline, and prints what they show. */
export async function printLogs(
  context: Context,
  { proofs }: LogProofs,
  keys: readonly JsonWebKey[],
): Promise<void> {
  const logs: ProvenLog[] = []
  for (const proof of proofs) {
    logs.push(await checked(() => verifyLogProof(proof, keys), 'invalid_proof'))
  }
  await context.terminal.result({ valid: true, logs, proofs }, () =>
    ['Valid: nothing was changed, removed or reordered.', ...logs.map(describeLog)].join('\n'),
  )
}

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
    ...entries.map(({ checkpoint }) => checkpoint),
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

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new Failure('usage', `${file} is not readable: ${(error as Error).message}`)
  }
}
