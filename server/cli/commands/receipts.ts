import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
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

/** Verifies a receipt locally with the hub's public keys. */
export async function verifyReceipt(context: Context, given: string): Promise<void> {
  const receipt = given.includes('.') ? given.trim() : await fetchReceipt(context, given)
  const [head = '', payload = '', signature = '', ...rest] = receipt.split('.')
  const header = parse(head)
  const claims = parse(payload)
  if (header === undefined || claims === undefined || rest.length > 0) {
    throw new Failure('usage', 'Not a receipt: a compact JWS, or the id of a call.')
  }
  if (header['alg'] !== 'EdDSA') throw new Failure('error', 'The receipt has another algorithm.')
  const { body } = await context.client().send('/.well-known/jwks.json')
  const { keys } = body as unknown as { readonly keys: readonly Jwk[] }
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
