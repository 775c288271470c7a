import type { JsonWebKey } from 'node:crypto'
import { assertSameLog, HEADS, type LogProof, verifyLogProof, verifyRoot } from './log-proof.ts'
import { ProofError } from './receipt.ts'
import { quorumOf, type WitnessPolicy } from './witness.ts'

/** Sends a GET request and returns the body of its successful response, as text. */
export type FetchText = (path: string) => Promise<string>

/**
 * Fetches the newest checkpoint of the log of a stored one, and the proof that it continues it;
 * verifies both.
 * @param keys of the hub; those of a file are safer than those that the hub sends now
 * @param witnesses that must have cosigned the newest one, if it is of the tree `heads`
 * @throws ProofError if the hub's log does not contain that of the stored checkpoint
 */
export async function fetchLogProof(
  fetchText: FetchText,
  older: string,
  keys: readonly JsonWebKey[],
  witnesses?: WitnessPolicy,
): Promise<LogProof> {
  const stored = verifyRoot(older, keys)
  const path = `/v1/ledger/trees/${stored.tree}`
  const isCosigned = witnesses && stored.tree === HEADS
  const demand = isCosigned ? `?cosignatures=${quorumOf(witnesses)}` : ''
  const newer = await fetchText(`${path}/checkpoint${demand}`)
  const newest = verifyRoot(newer, keys)
  assertSameLog(stored, newest)
  if (isCosigned && newest.size < stored.size) {
    throw new ProofError('No checkpoint as new as the stored one has enough cosignatures yet.')
  }
  const isLonger = newest.size > stored.size
  const query = `from=${stored.size}&to=${newest.size}`
  const { hashes } = isLonger
    ? (JSON.parse(await fetchText(`${path}/consistency?${query}`)) as Pick<LogProof, 'hashes'>)
    : { hashes: [] }
  if (!Array.isArray(hashes)) throw new ProofError('The hub returned no proof.')
  const proof = { older, newer, hashes }
  verifyLogProof(proof, keys, witnesses)
  return proof
}
