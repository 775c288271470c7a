import type { ClientBase, Pool } from 'pg'
import { Fault } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import { ledgerInTransaction } from '../ledger/in-transaction.ts'
import { creditsOf } from '../ledger/postings.ts'
import { type Micros, micros, priceTag } from '../money.ts'
import { isNewEntry, withFaults } from './posting-faults.ts'
import {
  type ActOrder,
  type Execution,
  type FinanceDeps,
  type Staff,
  type SubmittedAct,
  submitAct,
  withActContext,
} from './staff-acts.ts'

/** Credits of a revoked or expired main key. */
export interface UnusableCredits {
  readonly keyId: string
  /** Wallet or email address of its owner. */
  readonly owner: string | null
  /** Time at which the key was revoked or expired. */
  readonly since: Date
  /** Microdollars. */
  readonly credits: Micros
}

const LIST_MAX = 1_000

/** Lists credits of revoked and expired main keys, the oldest first. @param keyId default: all */
export async function listUnusableCredits(
  pool: Pool | ClientBase,
  keyId?: string,
): Promise<readonly UnusableCredits[]> {
  const { rows } = await pool.query<UnusableCredits>(
    `SELECT k.id AS "keyId", coalesce(p.wallet_address, n.email) AS owner, e.since,
       b.balance AS credits
     FROM hub.api_key k
     CROSS JOIN LATERAL (SELECT least(k.revoked_at, k.expires_at) AS since) e
     JOIN hub.principal p ON p.id = k.principal LEFT JOIN hub.person n ON n.principal = p.id
     JOIN ledger.balance b ON b.account = k.credits AND b.shard = p.shard
     WHERE k.parent IS NULL AND e.since <= now() AND b.balance > 0
       AND ($1::text IS NULL OR k.id = $1)
     ORDER BY e.since, k.id LIMIT ${LIST_MAX}`,
    [keyId ?? null],
  )
  return rows
}

/**
 * Proposes to post credits of a revoked or expired key as income (breakage). A second person must
 * confirm it.
 * @param amount @defaultValue all of them
 * @throws Fault `not_booked`, `own_account`
 */
export const proposeBreakage = (
  deps: FinanceDeps,
  by: Staff,
  keyId: string,
  reason: string,
  amount?: bigint,
): Promise<SubmittedAct> =>
  withActContext(deps, by, reason, async (context) => {
    const credits = await readCredits(context.client, keyId)
    const exposure = amount ?? credits
    const act = {
      id: uuidv7(deps.clock.now().getTime()),
      kind: 'breakage',
      subject: keyId,
      terms: { key: keyId, amount: String(exposure), asset: 'USDC' },
      accounts: [creditsOf(keyId)],
      exposure,
    } as const
    return submitAct(context, act, executeBreakage(deps, act))
  })

/** Returns the credits of a key. @throws Fault `not_booked` if it has none, or is still valid */
async function readCredits(client: ClientBase, keyId: string): Promise<Micros> {
  const [found] = await listUnusableCredits(client, keyId)
  if (!found)
    throw new Fault('not_booked', `${keyId} is not a revoked or expired key with credits.`)
  return found.credits
}

/** Execution of breakage, as one entry with the id of the act. */
export const executeBreakage =
  (
    { ledger }: Pick<FinanceDeps, 'ledger'>,
    { id, subject, terms }: Pick<ActOrder, 'id' | 'subject' | 'terms'>,
  ): Execution =>
  async (client, decision) => {
    const before = await readCredits(client, subject)
    const amount = micros(BigInt(String(terms['amount'])))
    if (amount > before) {
      throw new Fault('not_booked', `Key ${subject} has only ${priceTag(before)}.`)
    }
    const poster = ledgerInTransaction(ledger, client)
    const owner = await poster.account(creditsOf(subject))
    const entry = { owner, id, meta: { ...decision } }
    const event = { type: 'credits.lapsed', credits: owner.code, amount } as const
    const outcome = await withFaults(() => poster.post(event, entry))
    if (!isNewEntry(outcome)) return undefined
    const after = { credits: before - amount }
    return { act: 'credits.lapse', subject, before: { credits: before }, after }
  }
