import type { JsonWebKey } from 'node:crypto'
import { assertSameLog, type LogProof, verifyLogProof, verifyRoot } from './log-proof.ts'
import { ProofError } from './receipt.ts'

/** Sends a GET request and returns the body of its successful response, as text. */
export type FetchText = (path: string) => Promise<string>

/**
 * Fetches the newest checkpoint of the log of one that somebody stored, and the proof that it
 * continues it; verifies both.
 * @param keys of the hub; those of a file are safer than those that the hub sends now
 * @throws ProofError if the hub's log does not contain that of the stored checkpoint
 */
export async function fetchLogProof(
  fetchText: FetchText,
  older: string,
  keys: readonly JsonWebKey[],
): Promise<LogProof> {
  const stored = verifyRoot(older, keys)
  const path = `/v1/ledger/trees/${stored.tree}`
  const newer = await fetchText(`${path}/checkpoint`)
  const newest = verifyRoot(newer, keys)
  assertSameLog(stored, newest)
  const isLonger = newest.size > stored.size
  const query = `from=${stored.size}&to=${newest.size}`
  const { hashes } = isLonger
    ? (JSON.parse(await fetchText(`${path}/consistency?${query}`)) as Pick<LogProof, 'hashes'>)
    : { hashes: [] }
  if (!Array.isArray(hashes)) throw new ProofError('The hub returned no proof.')
  const proof = { older, newer, hashes }
  verifyLogProof(proof, keys)
  return proof
}
