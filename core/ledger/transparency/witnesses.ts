import type { Pool } from 'pg'
import { findCosignature, type WitnessKey } from '../../crypto/cosignature.ts'
import { parseSignedNote } from '../../crypto/signed-note.ts'
import type { Egress, EgressResponse } from '../../egress/http.ts'
import type { Log } from '../../log.ts'
import { logFailure, outagesOf } from '../../outages.ts'
import { CachedTree } from './cached-tree.ts'
import { findSignedTree, HEADS, type SignedTree } from './signed-tree.ts'
import { readConsistencyProof } from './tree.ts'

/** A witness of C2SP tlog-witness: its key, and the prefix of its addresses. */
export interface Witness {
  readonly key: WitnessKey
  readonly url: string
}

export interface Witnesses {
  readonly witnesses: readonly Witness[]
  /** Client that can reach only the witnesses. */
  readonly egress: Egress
}

interface CosignDeps extends Witnesses {
  readonly pool: Pick<Pool, 'query'>
  readonly log: Log
}

const TIMEOUTS = { headersMs: 10_000, bodyMs: 10_000, totalMs: 10_000 }
const RESPONSE_BYTES_MAX = 16_384
const SIZE_TYPE = 'text/x.tlog.size'
const SIZE = /^(0|[1-9]\d{0,14})\n$/

/** The witness has seen another log: the hub's is a fork of it. */
class ForkedLog extends Error {
  override readonly name = 'ForkedLog'
}

/**
 * Asks each witness that has not cosigned the newest root over the checkpoints of all shards to do
 * so, and stores the cosignatures that verify. A witness that fails is asked again by the next run;
 * nothing waits for it.
 */
export async function cosignHeads(deps: CosignDeps): Promise<void> {
  const signed = await findSignedTree(deps.pool, HEADS)
  if (!signed) return
  const requests = deps.witnesses.map(async (witness) => {
    const component = `witness ${witness.key.name}`
    try {
      await cosign(deps, witness, signed)
      outagesOf(deps.log).succeed(component)
    } catch (err) {
      const about = { err, component, size: signed.size }
      if (err instanceof ForkedLog) {
        logFailure(deps.log, 'error', about, 'a witness has seen another ledger')
      } else logFailure(deps.log, 'warn', about, 'failed to get a cosignature; trying again')
    }
  })
  await Promise.all(requests)
}

async function cosign(deps: CosignDeps, witness: Witness, signed: SignedTree): Promise<void> {
  const { key } = witness
  const before = await cosignedSize(deps.pool, key)
  if (before === signed.size) return
  let response = await addCheckpoint(deps, witness, signed, before)
  const known = sizeIn(response)
  if (known !== undefined && known > signed.size) {
    throw new ForkedLog(`it cosigned ${known} checkpoints; the ledger has ${signed.size}`)
  }
  if (known !== undefined && known !== before) {
    response = await addCheckpoint(deps, witness, signed, known)
  }
  const { status, body } = response
  if (status === 422 || (status === 409 && sizeIn(response) === undefined)) {
    throw new ForkedLog(`it refused the proof that the ledger continues the one before (${status})`)
  }
  if (status !== 200) throw new Error(`the witness responded with ${status}`)
  const line = cosignatureLine(signed.note, body.toString('utf8'), key)
  if (line === undefined) throw new Error('the response has no cosignature by the configured key')
  await deps.pool.query('SELECT ledger.add_cosignature($1, $2, $3)', [signed.size, key.text, line])
}

async function addCheckpoint(
  { pool, egress }: CosignDeps,
  { url }: Witness,
  { size, note }: SignedTree,
  before: number,
): Promise<EgressResponse> {
  const tree = new CachedTree(pool, HEADS)
  const proof = before === 0 ? [] : await readConsistencyProof(tree, before, size)
  const lines = [`old ${before}`, ...proof.map((hash) => hash.toString('base64')), '', note]
  return egress.request({
    url: `${url.replace(/\/$/, '')}/add-checkpoint`,
    method: 'POST',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: lines.join('\n'),
    maxBytes: RESPONSE_BYTES_MAX,
    timeouts: TIMEOUTS,
  })
}

/** Size of the last tree that the witness cosigned, if it names one in a conflict. */
function sizeIn({ status, headers, body }: EgressResponse): number | undefined {
  if (status !== 409 || headers['content-type'] !== SIZE_TYPE) return undefined
  const [, size] = SIZE.exec(body.toString('utf8')) ?? []
  return size === undefined ? undefined : Number(size)
}

/** Returns the first line of a response that is a valid cosignature of the note by the key. */
function cosignatureLine(note: string, response: string, key: WitnessKey): string | undefined {
  const text = note.slice(0, note.indexOf('\n\n') + 2)
  const lines = response.split('\n').map((line) => `${line}\n`)
  return lines.find((line) => {
    const signed = parseSignedNote(`${text}${line}`)
    return signed && findCosignature(signed, key) !== undefined
  })
}

/** Size of the newest root with a stored cosignature of the witness; 0 if there is none. */
async function cosignedSize(pool: Pick<Pool, 'query'>, { text }: WitnessKey): Promise<number> {
  const { rows } = await pool.query<{ size: bigint }>(
    'SELECT coalesce(max(size), 0) AS size FROM ledger.cosignature WHERE witness = $1',
    [text],
  )
  return Number(rows[0]!.size)
}
