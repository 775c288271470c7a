import { ProofError, verifyReceipt } from '../../../core/client/index.ts'
import { mismatch } from '../../conservation/checker-helpers.ts'
import { headerOf, type Rule, type Truth, titleOf } from './truth.ts'

/** A receipt is signed by the hub, and states the call and the charge of the journal. */
export const checkReceipts: Rule = ({ requests }, { receiptKeys, database }, { net, refunded }) => {
  const sales = new Map(database.claims.map(({ id, amount }) => [id, amount]))
  return requests.flatMap((request) =>
    request.attempts.flatMap((attempt) => {
      const receipt = headerOf(attempt, 'x-receipt')
      if (receipt === undefined) return []
      const claims = JSON.parse(Buffer.from(receipt.split('.')[1]!, 'base64url').toString())
      const { jti, charged_microdollars: charged } = claims
      const title = `receipt ${String(jti)} of ${titleOf(request)}`
      const isSigned = isVerified(receipt, receiptKeys)
      return [
        ...(isSigned ? [] : [`${title} is not signed by the hub`]),
        ...mismatch(`call of ${title}`, jti, headerOf(attempt, 'x-call-id')),
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

function isVerified(receipt: string, keys: Parameters<typeof verifyReceipt>[1]): boolean {
  try {
    verifyReceipt(receipt, keys)
    return true
  } catch (error) {
    if (error instanceof ProofError) return false
    throw error
  }
}
