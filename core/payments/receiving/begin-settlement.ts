import type { Pool } from 'pg'
import { REPLACE_RESPONSE, type SealedResponse } from '../../usage/stored-responses.ts'
import type { Claim } from './claim.ts'

const BEGIN = `UPDATE hub.payment_claim SET settling = true, amount = $3
  WHERE id = $1 AND state = 'claimed' AND process = $2`

/** One statement: after a crash, the settlement of stored work has begun, and no other. */
const STORE_AND_BEGIN = `WITH begun AS (${BEGIN} AND call = $4 AND NOT settling RETURNING id)
  INSERT INTO hub.kept_answer (id, sealed, expires_at, key_version)
  SELECT id, $5, now() + make_interval(hours => $6), $7 FROM begun
  ON CONFLICT (id) DO ${REPLACE_RESPONSE}`

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
  const { rowCount } = await (response
    ? on.query(STORE_AND_BEGIN, [
        ...begin,
        response.call,
        response.sealed,
        response.storedHours,
        response.keyVersion,
      ])
    : on.query(BEGIN, begin))
  return rowCount === 1
}
