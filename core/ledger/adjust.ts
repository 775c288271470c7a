import type { ClientBase, Pool } from 'pg'
import type { Micros } from '../money.ts'
import type { Account, Asset, Outcome, SingleStepEvent } from './events.ts'
import { claimKey } from './idempotency.ts'
import type { Books } from './in-transaction.ts'
import type { AccountRef, Ledger } from './ledger.ts'
import type { Decision } from './reverse.ts'

/** An entry that a person decides on. */
export interface Adjustment {
  readonly debit: Account
  readonly credit: Account
  /** In units of the accounts' asset, above zero. */
  readonly amount: bigint
  /** When it belongs, if not now. In a closed month it becomes an entry of today. */
  readonly valueDate?: Date | undefined
  /** Where both accounts are of all shards: the one whose balances it changes. */
  readonly shard?: number | undefined
}

/** How an entry of a person is told from a new one just like it. */
export interface Once {
  /** The id of a new entry, UUID version 7. */
  readonly id: string
  /** A name that its author gave it: the same name again is the same entry. */
  readonly key?: string | undefined
  /** Who asked for it. */
  readonly meta?: Readonly<Record<string, string>>
}

/** The keys of all entries of finance are names in one place. */
const FINANCE: Account = 'equity:opening'

/** The accounts do not go together, or one does not exist; the message says which, and why. */
export class NotBookable extends Error {
  override readonly name = 'NotBookable'
}

/**
 * Books a correction by hand, with its author and reason.
 * @returns `applied`, `replayed`, `insufficient_funds` or `id_reused_with_other_terms`
 * @throws NotBookable for accounts that are unknown, the same, of two assets, or on two shards
 */
export async function adjust(
  pool: Pool | ClientBase,
  ledger: Books,
  adjustment: Adjustment,
  { author, reason }: Decision,
  once: Once,
): Promise<Outcome> {
  const { debit, credit, amount, valueDate } = adjustment
  const { owner, asset } = await placeOf(pool, ledger, adjustment)
  const event: SingleStepEvent = { type: 'balance.adjusted', debit, credit, asset, amount }
  const id = await adjustmentId(pool, ledger, adjustment, asset, once)
  if (id === undefined) return 'id_reused_with_other_terms'
  return ledger.post(event, {
    owner,
    id,
    meta: { author, reason },
    ...(valueDate === undefined ? {} : { effectiveAt: valueDate }),
  })
}

/**
 * Moves credits from one key to another one of the same principal.
 * @returns as `adjust`
 * @throws NotBookable for keys of different principals
 */
export async function transferCredits(
  pool: Pool,
  ledger: Ledger,
  { from, to, amount }: { from: AccountRef; to: AccountRef; amount: Micros },
  once: Once,
): Promise<Outcome> {
  const { rowCount } = await pool.query(
    `SELECT FROM hub.api_key a JOIN hub.api_key b ON b.principal = a.principal
     WHERE a.credits = $1 AND b.credits = $2 AND a.id <> b.id
       AND a.parent IS NULL AND b.parent IS NULL`,
    [from.id, to.id],
  )
  if (rowCount !== 1) throw new NotBookable('these are not two keys of one principal')
  const event: SingleStepEvent = {
    type: 'credits.transferred',
    from: from.code,
    to: to.code,
    amount,
  }
  const id = await idOf(pool, from, once, event)
  if (id === undefined) return 'id_reused_with_other_terms'
  return ledger.post(event, { owner: from, id, ...(once.meta && { meta: once.meta }) })
}

/** The id of an adjustment; undefined when its key was used for another one. */
export async function adjustmentId(
  pool: Pool | ClientBase,
  ledger: Books,
  { debit, credit, amount, valueDate, shard }: Adjustment,
  asset: Asset,
  once: Once,
): Promise<string | undefined> {
  const event: SingleStepEvent = { type: 'balance.adjusted', debit, credit, asset, amount }
  return idOf(pool, await ledger.account(FINANCE), once, { ...event, valueDate, shard })
}

/**
 * The account to book under, on the shard where both accounts have a balance.
 * @throws NotBookable
 */
export async function placeOf(
  pool: Pool | ClientBase,
  ledger: Books,
  { debit, credit, shard: wanted }: Adjustment,
): Promise<{ owner: AccountRef; asset: Asset }> {
  const { rows } = await pool.query<{ code: Account; home: number | null }>(
    'SELECT code, home FROM ledger.account WHERE code IN ($1, $2)',
    [debit, credit],
  )
  const unknown = [debit, credit].find((code) => !rows.some((row) => row.code === code))
  if (unknown !== undefined) throw new NotBookable(`no such account: ${unknown}`)
  if (debit === credit) throw new NotBookable('debit and credit are the same account')
  const [first, second] = [await ledger.account(debit), await ledger.account(credit)]
  if (first.asset !== second.asset) {
    throw new NotBookable(`${debit} counts ${first.asset}, ${credit} counts ${second.asset}`)
  }
  const homes = new Set(rows.flatMap(({ home }) => (home === null ? [] : [home])))
  if (homes.size > 1) throw new NotBookable('the accounts are on two shards: book two entries')
  const [home = wanted ?? 0] = homes
  return { owner: { ...first, shard: home }, asset: first.asset }
}

/** The id of an entry; undefined when its key was used for another one. */
async function idOf(
  pool: Pool | ClientBase,
  scope: AccountRef,
  { id, key }: Once,
  inputs: object,
): Promise<string | undefined> {
  if (key === undefined) return id
  const text = JSON.stringify(inputs, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  return (await claimKey(pool, scope, key, text, id))?.id
}
