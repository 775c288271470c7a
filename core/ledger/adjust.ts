import type { ClientBase, Pool } from 'pg'
import { type Micros, micros } from '../money.ts'
import { readBalances } from './account-balances.ts'
import type { Account, Asset, LedgerOutcome, SingleStepEvent } from './events.ts'
import { claimKey } from './idempotency.ts'
import type { PostingLedger } from './in-transaction.ts'
import type { AccountRef } from './ledger.ts'
import { BETWEEN_SHARDS, EXPENSE, isUsdcWallet, walletOf } from './postings.ts'
import type { Decision } from './reverse.ts'
import { readShards } from './shards.ts'
import { assertPossible } from './value-date.ts'

export interface Adjustment {
  readonly debit: Account
  readonly credit: Account
  /** Units of the accounts' asset, above zero. */
  readonly amount: bigint
  /** Defaults to now. A date in a closed month becomes the time of posting; the entry stores it. */
  readonly valueDate?: Date | undefined
  /** Provider whose debt changes: required for the receivables from providers. */
  readonly provider?: string | undefined
  /** Hash of the transfer on chain that the entry records, of a platform wallet; lower case. */
  readonly transaction?: string | undefined
  /** Shard to post on if both accounts exist on every shard. @defaultValue 0 */
  readonly shard?: number | undefined
}

/** Idempotency of a manual entry. */
export interface EntryIdentity {
  readonly id: string
  /** Idempotency key of the author: repeating it refers to the same entry. */
  readonly key?: string | undefined
  /** Metadata of the entry, such as its author. */
  readonly meta?: Readonly<Record<string, string>>
}

/** Wallets from which a facilitator may take its fee. */
const WALLETS = ['treasury', 'spend'] as const

/** Account under which all idempotency keys of finance are claimed. */
const KEY_SCOPE: Account = 'equity:opening'

/** The two accounts cannot be posted to in one entry; the message says why. */
export class NotPostable extends Error {
  override readonly name = 'NotPostable'
}

/**
 * Returns the event of a manual entry: granted credits, the fee of a facilitator, or any other
 * correction.
 */
function eventOf({ debit, credit, amount }: Adjustment, asset: Asset): SingleStepEvent {
  if (debit === EXPENSE.freeTier && credit.startsWith('liabilities:agents:')) {
    return { type: 'credits.granted', credits: credit, amount: micros(amount) }
  }
  const wallet = debit === EXPENSE.facilitator && WALLETS.find((each) => walletOf(each) === credit)
  if (wallet) return { type: 'facilitator.charged', wallet, amount: micros(amount) }
  return { type: 'balance.adjusted', debit, credit, asset, amount }
}

/**
 * Posts a manual entry, with author and reason: see `eventOf`.
 * @returns `applied`, `replayed`, `insufficient_funds` or `id_reused_with_other_terms`
 * @throws NotPostable if the accounts are unknown, identical, of two assets, or on two shards
 * @throws ImpossibleValueDate
 */
export async function adjust(
  pool: Pool | ClientBase,
  ledger: PostingLedger,
  adjustment: Adjustment,
  { author, reason }: Decision,
  once: EntryIdentity,
): Promise<LedgerOutcome> {
  const { valueDate, provider, transaction: tx } = adjustment
  if (valueDate !== undefined) await assertPossible(pool, valueDate)
  const { owner, asset } = await findOwner(pool, ledger, adjustment)
  const id = await claimEntryId(pool, ledger, adjustment, asset, once)
  if (id === undefined) return 'id_reused_with_other_terms'
  if (adjustment.debit === BETWEEN_SHARDS || adjustment.credit === BETWEEN_SHARDS) {
    if (!(await isPosted(pool, owner, id))) await assertNothingBetween(pool, ledger, adjustment)
  }
  return ledger.post(eventOf(adjustment, asset), {
    owner,
    id,
    meta: {
      author,
      reason,
      ...(provider !== undefined && { provider }),
      ...(tx !== undefined && { tx }),
    },
    ...(valueDate === undefined ? {} : { effectiveAt: valueDate }),
  })
}

/** Moves credits between main keys of one principal, as `adjust`. @throws NotPostable */
export async function transferCredits(
  pool: Pool | ClientBase,
  ledger: Pick<PostingLedger, 'post'>,
  { from, to, amount }: { from: AccountRef; to: AccountRef; amount: Micros },
  once: EntryIdentity,
): Promise<LedgerOutcome> {
  const { rowCount } = await pool.query(
    `SELECT FROM hub.api_key a JOIN hub.api_key b ON b.principal = a.principal
     WHERE a.credits = $1 AND b.credits = $2 AND a.id <> b.id
       AND a.parent IS NULL AND b.parent IS NULL`,
    [from.id, to.id],
  )
  if (rowCount !== 1) throw new NotPostable('these are not two keys of one principal')
  const event: SingleStepEvent = {
    type: 'credits.transferred',
    from: from.code,
    to: to.code,
    amount,
  }
  const id = await entryIdFor(pool, from, once, event)
  if (id === undefined) return 'id_reused_with_other_terms'
  return ledger.post(event, { owner: from, id, ...(once.meta && { meta: once.meta }) })
}

/** Returns the id of an adjustment; undefined if its key was used for a different one. */
export async function claimEntryId(
  pool: Pool | ClientBase,
  ledger: PostingLedger,
  { debit, credit, amount, valueDate, shard, provider, transaction }: Adjustment,
  asset: Asset,
  once: EntryIdentity,
): Promise<string | undefined> {
  const event: SingleStepEvent = { type: 'balance.adjusted', debit, credit, asset, amount }
  return entryIdFor(pool, await ledger.account(KEY_SCOPE), once, {
    ...event,
    valueDate,
    shard,
    provider,
    transaction,
  })
}

/** Returns the shard of both accounts, its owner and their asset. @throws NotPostable */
export async function findOwner(
  pool: Pool | ClientBase,
  ledger: PostingLedger,
  { debit, credit, shard: wanted, transaction }: Adjustment,
): Promise<{ owner: AccountRef; asset: Asset }> {
  if (transaction !== undefined && !isUsdcWallet(debit) && !isUsdcWallet(credit))
    throw new NotPostable('neither account is a platform wallet, which the transaction changes')
  const { rows } = await pool.query<{ code: Account; home: number | null }>(
    'SELECT code, home FROM ledger.account WHERE code IN ($1, $2)',
    [debit, credit],
  )
  const unknown = [debit, credit].find((code) => !rows.some((row) => row.code === code))
  if (unknown !== undefined) throw new NotPostable(`no such account: ${unknown}`)
  if (debit === credit) throw new NotPostable('debit and credit are the same account')
  const [first, second] = [await ledger.account(debit), await ledger.account(credit)]
  if (first.asset !== second.asset) {
    throw new NotPostable(`${debit} is in ${first.asset}, ${credit} is in ${second.asset}`)
  }
  const homes = new Set(rows.flatMap(({ home }) => (home === null ? [] : [home])))
  if (homes.size > 1) throw new NotPostable('the accounts are on two shards: post two entries')
  const [home = wanted ?? 0] = homes
  return { owner: { ...first, shard: home }, asset: first.asset }
}

const isPosted = async (
  pool: Pool | ClientBase,
  owner: AccountRef,
  id: string,
): Promise<boolean> => {
  const { rowCount } = await pool.query(
    'SELECT FROM ledger.journal WHERE shard = $1 AND owner = $2 AND id = $3',
    [owner.shard, owner.id, id],
  )
  return rowCount !== 0
}

/** @throws NotPostable if an entry leaves anything between shards, because payouts would stop */
async function assertNothingBetween(
  pool: Pool | ClientBase,
  ledger: PostingLedger,
  { debit, amount }: Adjustment,
): Promise<void> {
  const { id } = await ledger.account(BETWEEN_SHARDS)
  let sum = debit === BETWEEN_SHARDS ? -amount : amount
  for (const shard of await readShards(pool)) {
    const balances = await readBalances(pool, [{ credits: id, shard }])
    sum += balances.get(id) ?? 0n
  }
  if (sum === 0n) return
  throw new NotPostable(`${BETWEEN_SHARDS} must be zero after a correction, or payouts stop`)
}

/** Returns the id of an entry; undefined if its key was used for a different one. */
async function entryIdFor(
  pool: Pool | ClientBase,
  scope: AccountRef,
  { id, key }: EntryIdentity,
  inputs: object,
): Promise<string | undefined> {
  if (key === undefined) return id
  const text = JSON.stringify(inputs, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  return (await claimKey(pool, scope, key, text, id))?.id
}
