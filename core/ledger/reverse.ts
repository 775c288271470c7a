import type { ClientBase, Pool } from 'pg'
import type { Micros } from '../money.ts'
import type { Account, LedgerOutcome } from './events.ts'
import type { PostingLedger } from './in-transaction.ts'
import type { AccountRef, HoldRef } from './ledger.ts'
import { BETWEEN_SHARDS, EXTERNAL_SELLERS, SUSPENSE, X402_LOSS } from './postings.ts'

/** Author and reason of a manual entry; both are stored with it. */
export interface Decision {
  readonly author: string
  readonly reason: string
}

/** Attempts: the payee's balance may change between reading it and posting. */
const TRIES_MAX = 3

/**
 * Refunds a settled call once, in full or in part, as after a dispute. The platform refunds its
 * share of the commission, the payee the rest. The part that the payee was already paid out becomes
 * a receivable. An external seller keeps its final payment, which becomes a loss of the platform.
 * @param refunded @defaultValue the amount charged
 * @returns `applied`, `replayed`, `no_such_hold` if the call was not charged, `above_hold` if it
 *   was charged less, `id_reused_with_other_terms` after a different refund of the call
 */
export function reverseCall(
  pool: Pool | ClientBase,
  ledger: PostingLedger,
  hold: HoldRef,
  decision: Decision,
  refunded?: Micros,
): Promise<LedgerOutcome> {
  const entry = { owner: hold.owner, id: hold.call, meta: { ...decision } }
  const type = 'call.reversed'
  return reverse(
    () => findSettlement(pool, hold),
    (parts) => ledger.post({ type, credits: hold.owner.code, ...parts }, entry),
    refunded,
  )
}

/** A sale paid per request by x402: the id of its payment, and the account of its seller. */
export interface SaleRef {
  readonly id: string
  readonly payee: AccountRef
}

/**
 * Refunds a sale once, like `reverseCall`, to suspense as a deposit of its payer.
 * @param client with an open transaction: a payer on another shard needs a second entry
 * @param deposit id of that entry and the shard of the payer
 */
export async function reverseSale(
  client: ClientBase,
  ledger: PostingLedger,
  { id, payee: owner }: SaleRef,
  deposit: { readonly id: string; readonly shard: number },
  decision: Decision,
  refunded?: Micros,
): Promise<LedgerOutcome> {
  const meta = { ...decision }
  const to = owner.shard === deposit.shard ? 'suspense' : 'between-shards'
  let amount = 0n
  const outcome = await reverse(
    () => findSale(client, owner, id),
    (parts) => {
      amount = parts.refunded
      return ledger.post({ type: 'sale.reversed', to, ...parts }, { owner, id, meta })
    },
    refunded,
  )
  if (outcome !== 'applied' || to === 'suspense') return outcome
  const sides = { debit: BETWEEN_SHARDS, credit: SUSPENSE, asset: 'USDC', amount } as const
  const suspense = { ...(await ledger.account(SUSPENSE)), shard: deposit.shard }
  const arrival = { owner: suspense, id: deposit.id, meta }
  return ledger.post({ type: 'balance.adjusted', ...sides }, arrival)
}

/** Amount to refund and who pays for it. */
interface RefundParts {
  readonly payee: Account
  readonly refunded: Micros
  readonly commission: Micros
  readonly receivable: Micros
}

/** Splits the refund like the charge and posts it, again if the payee's balance changed. */
async function reverse(
  find: () => Promise<Settlement | undefined>,
  post: (parts: RefundParts) => Promise<LedgerOutcome>,
  refunded: Micros | undefined,
): Promise<LedgerOutcome> {
  let outcome: LedgerOutcome = 'no_such_hold'
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const settled = await find()
    if (!settled || settled.charged === 0n) return 'no_such_hold'
    const { charged } = settled
    const amount = refunded ?? charged
    if (amount > charged) return 'above_hold'
    if (settled.reversed !== null) {
      return settled.reversed === amount ? 'replayed' : 'id_reused_with_other_terms'
    }
    const commission = ((settled.commission * amount) / charged) as Micros
    const share = amount - commission
    const isExternal = settled.payee === EXTERNAL_SELLERS
    const payee = isExternal ? X402_LOSS : settled.payee
    const available = isExternal ? null : settled.available
    const short = available !== null && available < share ? share - available : 0n
    outcome = await post({ payee, refunded: amount, commission, receivable: short as Micros })
    if (outcome !== 'insufficient_funds' && outcome !== 'id_reused_with_other_terms') break
  }
  return outcome
}

interface Settlement {
  readonly charged: Micros
  readonly commission: bigint
  readonly payee: Account
  /** Available balance of the payee on the shard of the call; null if it may be overdrawn. */
  readonly available: bigint | null
  /** Amount already refunded; null if none. */
  readonly reversed: bigint | null
}

const AVAILABLE_AND_REVERSED = `b.balance - b.floor AS available,
  (SELECT sum(u.amount)::bigint FROM ledger.journal r, unnest(r.amounts) u(amount)
   WHERE r.shard = s.shard AND r.owner = s.owner AND r.id = s.id AND r.phase = 3
     AND u.amount > 0) AS reversed`

async function findSettlement(
  pool: Pool | ClientBase,
  { owner, call }: HoldRef,
): Promise<Settlement | undefined> {
  const { rows } = await pool.query<Settlement>(
    `SELECT s.amount AS charged, s.fee AS commission, a.code AS payee, ${AVAILABLE_AND_REVERSED}
     FROM ledger.journal s
     JOIN ledger.account a ON a.id = s.payee
     JOIN ledger.balance b ON b.account = s.payee AND b.shard = s.shard
     WHERE s.shard = $3 AND s.owner = $1 AND s.id = $2 AND s.phase = 2 AND s.kind = 2`,
    [owner.id, call, owner.shard],
  )
  return rows[0]
}

/** Kind 18: call.sold. Account 1: commission. */
async function findSale(
  client: ClientBase,
  payee: AccountRef,
  id: string,
): Promise<Settlement | undefined> {
  const { rows } = await client.query<Settlement>(
    `SELECT l.charged, l.commission, $3 AS payee, ${AVAILABLE_AND_REVERSED}
     FROM ledger.journal s JOIN ledger.balance b ON b.account = s.owner AND b.shard = s.shard
     CROSS JOIN LATERAL (SELECT sum(u.amount) FILTER (WHERE u.amount > 0)::bigint AS charged,
         coalesce(sum(u.amount) FILTER (WHERE u.account = 1), 0)::bigint AS commission
       FROM unnest(s.accounts, s.amounts) u(account, amount)) l
     WHERE s.owner = $1 AND s.id = $2 AND s.phase = 0 AND s.kind = 18`,
    [payee.id, id, payee.code],
  )
  return rows[0]
}
