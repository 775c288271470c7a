import { createPublicKey, verify } from 'node:crypto'
import { mismatch } from '../../conservation/checker-helpers.ts'
import { type Rule, type Truth, titleOf, told } from './truth.ts'

/** A receipt is signed by the hub, and states the call and the charge of the journal. */
export const checkReceipts: Rule = ({ requests }, { receiptKeys, database }, { net, refunded }) => {
  const keys = new Map(
    receiptKeys.map((key) => [key['kid'], createPublicKey({ key, format: 'jwk' })]),
  )
  const sales = new Map(database.claims.map(({ id, amount }) => [id, amount]))
  return requests.flatMap((request) =>
    request.attempts.flatMap((attempt) => {
      const receipt = told(attempt, 'x-receipt')
      if (receipt === undefined) return []
      const [head = '', payload = '', signature = ''] = receipt.split('.')
      const { kid } = decode(head)
      const claims = decode(payload)
      const { jti, charged_microdollars: charged } = claims
      const title = `receipt ${String(jti)} of ${titleOf(request)}`
      const key = keys.get(kid)
      const signed = Buffer.from(`${head}.${payload}`)
      const isSigned = key && verify(null, signed, key, Buffer.from(signature, 'base64url'))
      return [
        ...(isSigned ? [] : [`${title} is not signed by the hub`]),
        ...mismatch(`call of ${title}`, jti, told(attempt, 'x-call-id')),
        ...(claims['outcome'] === 'unresolved' || refunded.has(String(jti)) // decided later
          ? []
          : mismatch(`charge of ${title}`, BigInt(String(charged)), chargeOf(claims, net, sales))),
      ]
    }),
  )
}

/** Charge that a receipt must state. */
function chargeOf(
  { source, jti, ledger_entry: entry }: Readonly<Record<string, unknown>>,
  net: Truth['net'],
  sales: ReadonlyMap<string, bigint>,
): bigint {
  if (source === 'free' || source === 'none') return 0n
  return (source === 'x402' ? sales.get(String(entry)) : net.get(String(jti))) ?? 0n
}

const decode = (part: string): Readonly<Record<string, unknown>> =>
  JSON.parse(Buffer.from(part, 'base64url').toString())
