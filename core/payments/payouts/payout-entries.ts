import type { PoolClient } from 'pg'
import type { Clock } from '../../clock.ts'
import { uuidv7 } from '../../ids.ts'
import type { SingleStepEvent } from '../../ledger/events.ts'
import { ledgerInTransaction, type PostingLedger } from '../../ledger/in-transaction.ts'
import type { AccountRef, EntryHeader } from '../../ledger/ledger.ts'
import { BETWEEN_SHARDS, PAYOUTS } from '../../ledger/postings.ts'
import type { Decision } from '../../ledger/reverse.ts'
import { type Micros, micros } from '../../money.ts'
import { readDebt } from './debts.ts'
import type { Payout } from './payout.ts'

/** Earnings of a provider on one account and shard. */
export interface Earning {
  readonly owner: AccountRef
  readonly amount: Micros
}

/** Earnings of which a payout takes `amount`. */
export interface PayoutPart extends Earning {
  /** Rest that stays on the account because of a limit. */
  readonly carried: bigint
  /** Commission due on the sum of the sales, deducted first. */
  readonly rounding: Micros
}

/** Takes earnings in order up to `maximum`; of the last one possibly a part. */
export function takeUpTo(earned: readonly Earning[], maximum: bigint): readonly PayoutPart[] {
  let room = maximum
  return earned.flatMap(({ owner, amount: there }) => {
    const amount = micros(there < room ? there : room)
    room -= amount
    return amount > 0n ? [{ owner, amount, carried: there - amount, rounding: micros(0n) }] : []
  })
}

/**
 * Deducts commission that rounding left with the provider. Every part stays above zero; the rest is
 * due at the next payout.
 * @param due microdollars by account
 */
export function deductRounding(
  parts: readonly PayoutPart[],
  due: ReadonlyMap<bigint, bigint>,
): readonly PayoutPart[] {
  const open = new Map(due)
  return parts.map((part) => {
    const left = open.get(part.owner.id) ?? 0n
    const rounding = left < part.amount ? left : part.amount - 1n
    open.set(part.owner.id, left - rounding)
    return { ...part, amount: micros(part.amount - rounding), rounding: micros(rounding) }
  })
}

/** Reads the commission that rounding left with a provider, by account. */
export async function readRounding(
  client: PoolClient,
  parts: readonly PayoutPart[],
): Promise<ReadonlyMap<bigint, bigint>> {
  const accounts = [...new Set(parts.map(({ owner }) => owner.id))]
  const { rows } = await client.query<{ account: bigint; due: bigint }>(
    'SELECT a AS account, hub.commission_due(a) AS due FROM unnest($1::bigint[]) a',
    [accounts],
  )
  return new Map(rows.map(({ account, due }) => [account, due]))
}

export const sumAmounts = (parts: readonly Earning[]): bigint =>
  parts.reduce((sum, { amount }) => sum + amount, 0n)

type PayoutLedger = ReturnType<typeof payoutLedger>

/** Ledger that posts inside the transaction of `client`. */
export function payoutLedger(
  { ledger, clock }: { readonly ledger: PostingLedger; readonly clock: Clock },
  client: PoolClient,
) {
  const inner = ledgerInTransaction(ledger, client)
  return {
    account: inner.account,
    newId: () => uuidv7(clock.now().getTime()),
    /** @throws Error if the ledger refuses the entry, which rolls the payout back */
    async post(event: SingleStepEvent, entry: EntryHeader): Promise<void> {
      const outcome = await inner.post(event, entry)
      if (outcome !== 'applied') throw new Error(`${event.type} ${entry.id} not posted: ${outcome}`)
    },
  }
}

/**
 * Deducts a provider's debt from earnings. The row of the provider must be locked.
 * @returns the remaining earnings
 */
export async function recoverDebt(
  client: PoolClient,
  ledger: PayoutLedger,
  provider: string,
  earned: readonly Earning[],
  decision: Decision = { author: 'pay-providers', reason: 'Refunded after a payout.' },
): Promise<readonly Earning[]> {
  let open = await readDebt(client, provider)
  const left: Earning[] = []
  for (const { owner, amount } of earned) {
    const part = open < amount ? open : amount
    open -= part
    if (part > 0n) {
      const event = { type: 'receivable.recovered', earnings: owner.code } as const
      const meta = { ...decision, provider }
      await ledger.post({ ...event, amount: micros(part) }, { owner, id: ledger.newId(), meta })
    }
    if (part < amount) left.push({ owner, amount: micros(amount - part) })
  }
  return left
}

/**
 * Posts the commission of every part that rounding left, and the part as in transit, and gathers
 * parts of other shards on `shard`.
 */
export async function postPayoutStart(
  client: PoolClient,
  ledger: PayoutLedger,
  { id, provider, shard }: Pick<Payout, 'id' | 'provider' | 'shard'>,
  parts: readonly PayoutPart[],
): Promise<void> {
  const meta = { payout: id, provider }
  const entries = parts.map((part) => ({
    ...part,
    entry: ledger.newId(),
    roundingEntry: part.rounding > 0n ? ledger.newId() : null,
  }))
  for (const { owner, amount, entry, rounding, roundingEntry } of entries) {
    if (roundingEntry !== null) {
      const due = { type: 'commission.rounded', earnings: owner.code, amount: rounding } as const
      await ledger.post(due, { owner, id: roundingEntry, meta })
    }
    const event = { type: 'payout.started', earnings: owner.code, amount } as const
    await ledger.post(event, { owner, id: entry, meta })
  }
  const transit = await ledger.account(PAYOUTS)
  const otherShards = Map.groupBy(
    entries.filter(({ owner }) => owner.shard !== shard),
    ({ owner }) => owner.shard,
  )
  for (const [from, entriesThere] of otherShards) {
    const amount = micros(sumAmounts(entriesThere))
    const event = { type: 'payout.gathered', direction: 'out', amount } as const
    await ledger.post(event, { owner: { ...transit, shard: from }, id: ledger.newId(), meta })
  }
  const carried = micros(sumAmounts([...otherShards.values()].flat()))
  if (carried > 0n) {
    const owner = { ...(await ledger.account(BETWEEN_SHARDS)), shard }
    const event = { type: 'payout.gathered', direction: 'in', amount: carried } as const
    await ledger.post(event, { owner, id, meta })
  }
  await client.query(
    `INSERT INTO hub.payout_part
       (payout, account, shard, amount, carried, entry, rounding, rounding_entry, after_seq,
        upto_seq)
     SELECT $1, u.account, u.shard, u.amount, u.carried, u.entry, u.rounding, u.rounding_entry,
       coalesce((SELECT max(p.upto_seq) FROM hub.payout_part p
         WHERE p.account = u.account AND p.shard = u.shard), 0), j.seq
     FROM unnest($2::bigint[], $3::smallint[], $4::bigint[], $5::uuid[], $6::bigint[],
         $7::bigint[], $8::uuid[])
       u(account, shard, amount, entry, carried, rounding, rounding_entry)
     CROSS JOIN LATERAL ledger.entry_of(u.shard, u.account, u.entry, 0::smallint) j`,
    [
      id,
      entries.map(({ owner }) => owner.id),
      entries.map(({ owner }) => owner.shard),
      entries.map(({ amount }) => amount),
      entries.map(({ entry }) => entry),
      entries.map(({ carried }) => carried),
      entries.map(({ rounding }) => rounding),
      entries.map(({ roundingEntry }) => roundingEntry),
    ],
  )
}

/** Locks the earnings of a provider until the transaction ends and returns them by shard. */
export async function lockEarnings(
  client: PoolClient,
  provider: string,
): Promise<readonly Earning[]> {
  const earned = `FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
    WHERE a.code LIKE 'liabilities:providers:%' AND split_part(a.code, ':', 3) = $1
      AND b.balance > 0`
  const { rows: places } = await client.query<{ shard: number }>(
    `SELECT DISTINCT b.shard ${earned}`,
    [provider],
  )
  const shards = places.map(({ shard }) => shard)
  await client.query('SELECT ledger.hold_still($1)', [shards])
  const { rows } = await client.query<{ id: bigint; code: string; shard: number; amount: Micros }>(
    `SELECT a.id, a.code, b.shard, b.balance AS amount ${earned} AND b.shard = ANY ($2)
     ORDER BY b.shard, a.id`,
    [provider, shards],
  )
  return rows.map(({ amount, ...account }) => ({ owner: { ...account, asset: 'USDC' }, amount }))
}
