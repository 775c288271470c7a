import type { ClientBase, Pool } from 'pg'
import { derivedUuid } from '../ids.ts'
import type { PostingLedger } from '../ledger/in-transaction.ts'
import type { Decision } from '../ledger/reverse.ts'
import { micros } from '../money.ts'
import { IS_SMALL_DEPOSIT_SQL } from './exceptions.ts'
import { lockReconciliation } from './range.ts'
import { NotResolvable } from './resolve.ts'
import type { WalletName } from './types.ts'
import { accountOfWallet, partsOfWallet } from './wallets.ts'

/** Deposits resolved by one entry. */
const DEPOSITS_MAX = 1_000

/** Open small deposits of a wallet. */
export interface SmallDeposits {
  readonly wallet: WalletName
  readonly deposits: bigint
  /** Microdollars. */
  readonly amount: bigint
}

/** Sums the open small deposits, without wallets that have none. */
export async function sumSmallDeposits(pool: Pool): Promise<readonly SmallDeposits[]> {
  const { rows } = await pool.query<SmallDeposits>(
    `SELECT x.wallet, count(*) AS deposits, sum(x.amount)::bigint AS amount
     FROM hub.reconciliation_exception x
     WHERE x.resolved_at IS NULL AND ${IS_SMALL_DEPOSIT_SQL} GROUP BY x.wallet ORDER BY x.wallet`,
  )
  return rows
}

/** Exception of a small deposit. */
interface Deposit {
  readonly id: bigint
  readonly amount: bigint
  readonly foundAt: Date
}

const SELECT = `SELECT x.id, x.amount, x.found_at AS "foundAt" FROM hub.reconciliation_exception x
  WHERE x.resolved_at IS NULL AND x.wallet = $1 AND ${IS_SMALL_DEPOSIT_SQL}`

/** Finds the oldest open small deposits of a wallet. */
export async function findSmallDeposits(
  client: ClientBase,
  wallet: WalletName,
): Promise<readonly Deposit[]> {
  const { rows } = await client.query<Deposit>(`${SELECT} ORDER BY x.id LIMIT $2`, [
    wallet,
    DEPOSITS_MAX,
  ])
  return rows
}

/**
 * Posts small deposits to suspense by one entry, and closes their exceptions. Leaves out those that
 * were resolved meanwhile. `ledger` must post in the transaction of `client`.
 * @returns the deposits that it resolved
 * @throws NotResolvable if the ledger refuses the entry
 */
export async function resolveSmallDeposits(
  { client, ledger }: { readonly client: ClientBase; readonly ledger: PostingLedger },
  wallet: WalletName,
  ids: readonly bigint[],
  { author, reason }: Decision,
): Promise<readonly Deposit[]> {
  // A concurrent run must not close the exceptions while their entry is being posted.
  await lockReconciliation(client)
  const sql = `${SELECT} AND x.id = ANY ($2::bigint[]) ORDER BY x.id`
  const { rows: deposits } = await client.query<Deposit>(sql, [wallet, ids])
  const [first] = deposits
  if (!first) return []
  const amount = micros(deposits.reduce((sum, each) => sum + each.amount, 0n))
  const owner = await ledger.account(accountOfWallet(wallet))
  const id = derivedUuid(first.foundAt, `small deposits from exception ${first.id}`)
  const meta = { author, reason, exceptions: String(deposits.length), first: String(first.id) }
  const event = { type: 'surplus.found', ...partsOfWallet(wallet), amount } as const
  const outcome = await ledger.post(event, { owner, id, meta })
  if (outcome !== 'applied') throw new NotResolvable(`The entry was refused: ${outcome}.`)
  await client.query(
    `UPDATE hub.reconciliation_exception SET resolved_at = clock_timestamp(), resolution = 'booked',
       author = $2, explanation = $3, answer = $4, answer_id = $5 WHERE id = ANY ($1::bigint[])`,
    [deposits.map((each) => each.id), author, reason, owner.id, id],
  )
  return deposits
}
