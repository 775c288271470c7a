import type { JsonWebKey } from 'node:crypto'
import {
  type CallProof,
  verifyCallProof,
  verifyReceipt,
  type WitnessPolicy,
} from '../../../core/client/index.ts'
import { type CommonFlags, type Context, clientWithKey } from '../context.ts'
import { Failure } from '../failure.ts'
import { dollars } from '../terminal.ts'
import { formatTime, type PageFlags, printPage } from './list-page.ts'
import { describeWitnesses, type LogProofs, printLogs } from './log-proof.ts'
import { checked, policyOf, readJson, readKeys, type TrustFlags } from './proof-files.ts'

interface ChargedCall {
  readonly id: string
  readonly at: string
  readonly endpoint: string
  readonly source: string
  readonly charged_microdollars: number
}

/** Lists calls that were paid by credits or x402, newest first; each has a receipt. */
export const listReceipts = (context: Context, flags: PageFlags): Promise<void> =>
  printPage<ChargedCall>(context, flags, {
    path: '/v1/calls',
    query: { charged: 'true' },
    head: ['at (UTC)', 'endpoint', 'paid by', 'charged', 'call'],
    cellsOf: (call) => [
      formatTime(call.at),
      call.endpoint,
      call.source,
      dollars(BigInt(call.charged_microdollars)),
      call.id,
    ],
    noteOn: (first) => `\n\nVerify one: hub receipts verify ${first.id}`,
    ifEmpty: 'No call was charged yet.',
  })

const CALL_ID = /^[0-9a-f-]{36}$/
const RECEIPT = /^[\w-]+\.[\w-]+(?:\.[\w-]+){1,2}$/

/** Longest wait for a checkpoint that covers a call: one is signed about once a minute. */
const CHECKPOINT_SECONDS = 150
const POLL_MS = 2_000

/**
 * Prints a proof that the ledger has a call, after verifying it. Waits for its checkpoint: `--wait`
 * seconds, if given.
 */
export async function proveReceipt(
  context: Context,
  call: string,
  { wait = CHECKPOINT_SECONDS }: Pick<CommonFlags, 'wait'>,
): Promise<void> {
  const keys = await readKeys(context)
  const waiting = 'waiting for the next signed checkpoint'
  const proof = await context.terminal.withSpinner(
    waiting,
    fetchProof(context, { call, wait, keys }),
  )
  await checkProof(proof, keys)
  await context.terminal.result(proof, () => JSON.stringify(proof, null, 2))
}

async function fetchProof(
  context: Context,
  {
    call,
    wait,
    keys,
  }: { readonly call: string; readonly wait: number; readonly keys: readonly JsonWebKey[] },
): Promise<CallProof> {
  const client = await clientWithKey(context)
  const path = `/v1/calls/${encodeURIComponent(call)}/proof`
  const deadline = performance.now() + wait * 1_000
  for (;;) {
    const { body } = await client.send(path)
    const proof = body as unknown as CallProof
    if (proof.entries.length > 0) return proof
    const claims = proof.receipt && verifyReceipt(proof.receipt, keys).claims
    if (claims && claims['ledger_entry'] === null) {
      throw new Failure('error', 'This call has no entry in the ledger: it was not charged.')
    }
    if (performance.now() >= deadline) {
      const hint = 'Try again in a few minutes.'
      throw new Failure('error', 'No signed checkpoint covers this call yet.', hint)
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** Verifies a receipt, or a proof of one or of the ledger, locally with the public keys. */
export async function checkReceipt(
  context: Context,
  given: string,
  flags: TrustFlags,
): Promise<void> {
  const text = given.trim()
  const witnesses = policyOf(flags)
  const keys = await readKeys(context, flags.keys)
  if (CALL_ID.test(text)) return verifyOne(context, await fetchReceipt(context, text), keys)
  if (RECEIPT.test(text)) return verifyOne(context, text, keys)
  const proof = (await readJson(text)) as CallProof | LogProofs
  if ('proofs' in proof) return printLogs(context, proof, { keys, witnesses })
  const proven = await checkProof(proof, keys, witnesses)
  await context.terminal.result({ valid: true, ...proven }, () =>
    [
      'Valid: signed by the hub, and in its ledger.',
      ...proven.entries.map(
        ({ shard, seq, size, at, heads }) =>
          `Entry ${seq} of shard ${shard}, in the checkpoint of ${size} entries at ${at}` +
          `${heads ? `, under the root of ${heads.size} checkpoints at ${heads.at}` : ''}.`,
      ),
      ...describeWitnesses(proven.entries.flatMap(({ heads }) => heads?.cosignatures ?? [])),
      JSON.stringify(proven.claims, null, 2),
    ].join('\n'),
  )
}

const checkProof = (proof: CallProof, keys: readonly JsonWebKey[], witnesses?: WitnessPolicy) =>
  checked(() => verifyCallProof(proof, keys, witnesses), 'invalid_proof')

async function verifyOne(
  context: Context,
  receipt: string,
  keys: readonly JsonWebKey[],
): Promise<void> {
  const verified = await checked(() => verifyReceipt(receipt, keys), 'invalid_receipt')
  await context.terminal.result({ valid: true, ...verified }, () =>
    [`Valid: signed by ${context.hub}.`, JSON.stringify(verified.claims, null, 2)].join('\n'),
  )
}

async function fetchReceipt(context: Context, call: string): Promise<string> {
  const { body } = await (await clientWithKey(context)).send(
    `/v1/calls/${encodeURIComponent(call)}`,
  )
  if (typeof body['receipt'] === 'string') return body['receipt']
  throw new Failure('error', `The call ${call} has no receipt.`)
}
