import type { Pool, PoolClient } from 'pg'
import type { Clock } from '../../clock.ts'
import { uuidv7 } from '../../ids.ts'
import type { SingleStepEvent } from '../../ledger/events.ts'
import { ledgerInTransaction } from '../../ledger/in-transaction.ts'
import type { AccountRef, EntryHeader, Ledger } from '../../ledger/ledger.ts'
import { BETWEEN_SHARDS, PAYOUTS } from '../../ledger/postings.ts'
import { type Micros, micros } from '../../money.ts'
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
}

/** Takes earnings in order up to `maximum`; of the last one possibly a part. */
export function takeUpTo(earned: readonly Earning[], maximum: bigint): readonly PayoutPart[] {
  let room = maximum
  return earned.flatMap(({ owner, amount: there }) => {
    const amount = micros(there < room ? there : room)
    room -= amount
    return amount > 0n ? [{ owner, amount, carried: there - amount }] : []
  })
}

export const sumAmounts = (parts: readonly Earning[]): bigint =>
  parts.reduce((sum, { amount }) => sum + amount, 0n)

type PayoutLedger = ReturnType<typeof payoutLedger>

/** Ledger that posts inside the transaction of `client`. */
export function payoutLedger(
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
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

/** Deducts a provider's debt from earnings. @returns the remaining earnings */
export async function recoverDebt(
  client: PoolClient,
  ledger: PayoutLedger,
  provider: string,
  earned: readonly Earning[],
): Promise<readonly Earning[]> {
  const { rows } = await client.query<Debt>(DEBTS_SQL, [provider])
  let open = rows[0]?.debt ?? 0n
  const left: Earning[] = []
  for (const { owner, amount } of earned) {
    const part = open < amount ? open : amount
    open -= part
    if (part > 0n) {
      const event = { type: 'receivable.recovered', earnings: owner.code } as const
      const meta = { author: 'pay-providers', reason: 'Refunded after a payout.', provider }
      await ledger.post({ ...event, amount: micros(part) }, { owner, id: ledger.newId(), meta })
    }
    if (part < amount) left.push({ owner, amount: micros(amount - part) })
  }
  return left
}

/** Posts every part as in transit and gathers parts of other shards on `shard`. */
export async function postPayoutStart(
  client: PoolClient,
  ledger: PayoutLedger,
  { id, provider, shard }: Pick<Payout, 'id' | 'provider' | 'shard'>,
  parts: readonly PayoutPart[],
): Promise<void> {
  const meta = { payout: id, provider }
  const entries = parts.map((part) => ({ ...part, entry: ledger.newId() }))
  for (const { owner, amount, entry } of entries) {
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
       (payout, account, shard, amount, carried, entry, after_seq, upto_seq)
     SELECT $1, u.account, u.shard, u.amount, u.carried, u.entry,
       coalesce((SELECT max(p.upto_seq) FROM hub.payout_part p
         WHERE p.account = u.account AND p.shard = u.shard), 0), j.seq
     FROM unnest($2::bigint[], $3::smallint[], $4::bigint[], $5::uuid[], $6::bigint[])
       u(account, shard, amount, entry, carried)
     JOIN ledger.journal j ON j.owner = u.account AND j.id = u.entry AND j.phase = 0`,
    [
      id,
      entries.map(({ owner }) => owner.id),
      entries.map(({ owner }) => owner.shard),
      entries.map(({ amount }) => amount),
      entries.map(({ entry }) => entry),
      entries.map(({ carried }) => carried),
    ],
  )
}

/** Debts of providers in microdollars: refunds after a payout minus `meta.provider` recoveries. */
const DEBTS_SQL = `
  WITH change(provider, amount) AS (
    SELECT split_part(a.code, ':', 3), -u.amount
    FROM ledger.journal r
    CROSS JOIN LATERAL unnest(r.accounts, r.amounts) u(account, amount)
    JOIN ledger.journal s ON s.owner = r.owner AND s.id = r.id AND s.phase = 2
    JOIN ledger.account a ON a.id = s.payee
    WHERE r.kind = 29 AND u.account = 9
    UNION ALL
    SELECT split_part(a.code, ':', 3), u.amount
    FROM ledger.journal r
    CROSS JOIN LATERAL unnest(r.accounts, r.amounts) u(account, amount)
    JOIN ledger.account a ON a.id = u.account
    WHERE r.kind = 38 AND u.account <> 9
    UNION ALL
    SELECT r.meta ->> 'provider', -u.amount
    FROM ledger.journal r
    CROSS JOIN LATERAL unnest(r.accounts, r.amounts) u(account, amount)
    WHERE r.kind = 39 AND u.account = 9
  )
  SELECT provider, sum(amount)::bigint AS debt FROM change
  WHERE $1::text IS NULL OR provider = $1 GROUP BY 1 HAVING sum(amount) > 0`

interface Debt {
  readonly provider: string
  readonly debt: bigint
}

export async function readDebts(pool: Pool): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await pool.query<Debt>(DEBTS_SQL, [null])
  return new Map(rows.map(({ provider, debt }) => [provider, debt]))
}
