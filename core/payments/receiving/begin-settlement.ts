import type { Pool } from 'pg'
import { insertResponse, type SealedResponse } from '../../usage/stored-responses.ts'
import type { Claim } from './claim.ts'

const BEGIN = {
  name: 'claims.begin-settlement',
  text: `UPDATE hub.payment_claim SET settling = true, amount = $3
    WHERE id = $1 AND state = 'claimed' AND process = $2`,
}

/** One statement: after a crash, the settlement of stored work has begun, and no other. */
const STORE_AND_BEGIN = {
  name: 'claims.store-and-begin',
  text: `WITH begun AS (${BEGIN.text} AND call = $4 AND NOT settling RETURNING id)
    ${insertResponse(['id', '$5', '$6'], 'FROM begun')}`,
}

/**
 * Notes that the amount of a claim may be sent from now on, and stores the response of its work in
 * the same transaction, in place of that of a process that is gone.
 * @returns false if another process or call has the claim now, or if work was done for a payment
 *   whose settlement had begun: nothing was stored
 */
export async function beginSettlement(
  on: Pick<Pool, 'query'>,
  { id, amount }: Pick<Claim, 'id' | 'amount'>,
  process: string,
  response: SealedResponse | undefined,
): Promise<boolean> {
  const begin = [id, process, amount]
  const { call, sealed, keyVersion } = response ?? {}
  const { rowCount } = await on.query(
    response
      ? { ...STORE_AND_BEGIN, values: [...begin, call, sealed, keyVersion] }
      : { ...BEGIN, values: begin },
  )
  return rowCount === 1
}
