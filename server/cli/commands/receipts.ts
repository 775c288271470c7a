import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type CallProof, ProofError, verifyCallProof } from '../../../core/client/index.ts'
import { type Context, clientWithKey } from '../context.ts'
import { Failure } from '../failure.ts'
import { dollars, table } from '../terminal.ts'
import { parseLimit } from './search.ts'

interface Jwk extends JsonWebKey {
  readonly kid?: string
}

interface ChargedCall {
  readonly id: string
  readonly at: string
  readonly endpoint: string
  readonly source: string
  readonly charged_microdollars: number
}

/** Lists calls that were paid by credits or x402, newest first; each has a receipt. */
export async function listReceipts(
  context: Context,
  { limit, cursor }: { readonly limit?: string; readonly cursor?: string },
): Promise<void> {
  const query = new URLSearchParams({
    charged: 'true',
    limit: String(parseLimit(limit)),
    ...(cursor && { cursor }),
  })
  const { body } = await (await clientWithKey(context)).send(`/v1/calls?${query.toString()}`)
  const { data, next_cursor: next } = body as unknown as {
    readonly data: readonly ChargedCall[]
    readonly next_cursor: string | null
  }
  await context.terminal.result(body, () => {
    if (data.length === 0) return 'No call was charged yet.'
    const rows = data.map((call) => [
      call.at.replace('T', ' ').slice(0, 19),
      call.endpoint,
      call.source,
      dollars(BigInt(call.charged_microdollars)),
      call.id,
    ])
    const more = next ? `\nMore: --cursor ${next}` : ''
    const verify = `Verify one: hub receipts verify ${data[0]!.id}`
    const list = table(['at (UTC)', 'endpoint', 'paid by', 'charged', 'call'], rows)
    return `${list}\n\n${verify}${more}`
  })
}

const CALL_ID = /^[0-9a-f-]{36}$/
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Prints a proof that the ledger has a call, after verifying it. */
export async function proveReceipt(context: Context, call: string): Promise<void> {
  const path = `/v1/calls/${encodeURIComponent(call)}/proof`
  const { body } = await (await clientWithKey(context)).send(path)
  const proof = body as unknown as CallProof
  if (proof.entries.length === 0) {
    const hint = 'A checkpoint is signed about once a minute. Calls without a charge have no entry.'
    throw new Failure('error', 'No signed checkpoint covers an entry of this call yet.', hint)
  }
  checkProof(proof, await readKeys(context))
  await context.terminal.result(body, () => JSON.stringify(body, null, 2))
}

/** Verifies a receipt, or the proof of one, locally with the hub's public keys. */
export async function verifyReceipt(
  context: Context,
  given: string,
  { keys: file }: { readonly keys?: string } = {},
): Promise<void> {
  const text = given.trim()
  const keys = await readKeys(context, file)
  if (CALL_ID.test(text)) return verifyJws(context, await fetchReceipt(context, text), keys)
  if (COMPACT_JWS.test(text)) return verifyJws(context, text, keys)
  const proven = checkProof((await readJson(text)) as CallProof, keys)
  await context.terminal.result({ valid: true, ...proven }, () =>
    [
      'Valid: signed by the hub, and in its ledger.',
      ...proven.entries.map(
        ({ shard, seq, size, at }) =>
          `Entry ${seq} of shard ${shard}, in the checkpoint of ${size} entries at ${at}.`,
      ),
      JSON.stringify(proven.claims, null, 2),
    ].join('\n'),
  )
}

function checkProof(proof: CallProof, keys: readonly Jwk[]) {
  try {
    return verifyCallProof(proof, keys)
  } catch (error) {
    const text = error instanceof ProofError ? error.message : 'The file is not a proof.'
    throw new Failure('error', text, undefined, { code: 'invalid_proof' })
  }
}

/** Reads the keys from a file, or from the hub. */
async function readKeys(context: Context, file?: string): Promise<readonly Jwk[]> {
  const body =
    file === undefined
      ? (await context.client().send('/.well-known/jwks.json')).body
      : await readJson(file)
  const { keys } = body as unknown as { readonly keys?: readonly Jwk[] }
  if (Array.isArray(keys)) return keys
  throw new Failure('usage', `${file ?? context.hub} has no keys (JWKS).`)
}

async function readJson(file: string): Promise<object> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw new Failure(
      'usage',
      `${file} is not a readable file of JSON: ${(error as Error).message}`,
    )
  }
}

async function verifyJws(context: Context, receipt: string, keys: readonly Jwk[]): Promise<void> {
  const [head = '', payload = '', signature = '', ...rest] = receipt.split('.')
  const header = parse(head)
  const claims = parse(payload)
  if (header === undefined || claims === undefined || rest.length > 0) {
    throw new Failure('usage', 'Not a receipt: a compact JWS, or the id of a call.')
  }
  if (header['alg'] !== 'EdDSA') throw new Failure('error', 'The receipt has another algorithm.')
  const jwk = keys.find(({ kid }) => kid === header['kid'])
  if (!jwk) throw new Failure('error', `${context.hub} has no key ${String(header['kid'])}.`)
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  const isValid = verify(
    null,
    Buffer.from(`${head}.${payload}`),
    key,
    Buffer.from(signature, 'base64url'),
  )
  if (!isValid)
    throw new Failure('error', 'The signature is not that of the hub.', undefined, {
      code: 'invalid_receipt',
    })
  await context.terminal.result({ valid: true, kid: header['kid'], claims }, () =>
    [`Valid: signed by ${context.hub}.`, JSON.stringify(claims, null, 2)].join('\n'),
  )
}

async function fetchReceipt(context: Context, call: string): Promise<string> {
  const { body } = await (await clientWithKey(context)).send(
    `/v1/calls/${encodeURIComponent(call)}`,
  )
  if (typeof body['receipt'] === 'string') return body['receipt']
  throw new Failure('error', `The call ${call} has no receipt.`)
}

function parse(part: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}
