import type { Pool, PoolClient } from 'pg'
import type { Clock } from '../../clock.ts'
import { uuidv7 } from '../../ids.ts'
import type { SingleStepEvent } from '../../ledger/events.ts'
import { ledgerInTransaction } from '../../ledger/in-transaction.ts'
import type { AccountRef, EntryHeader, Ledger } from '../../ledger/ledger.ts'
import { BETWEEN_SHARDS, PAYOUTS } from '../../ledger/postings.ts'
import { type Micros, micros } from '../../money.ts'

/** What a provider has on one account and shard. */
export interface EarningsPart {
  readonly owner: AccountRef
  readonly amount: Micros
}

export const sumAmounts = (parts: readonly EarningsPart[]): bigint =>
  parts.reduce((sum, { amount }) => sum + amount, 0n)

type PayoutLedger = ReturnType<typeof payoutLedger>

/** Books in the transaction of `client`. */
export function payoutLedger(
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
  client: PoolClient,
) {
  const books = ledgerInTransaction(ledger, client)
  return {
    account: books.account,
    newId: () => uuidv7(clock.now().getTime()),
    /** @throws Error when it is refused: then nothing of the payout happens */
    async post(event: SingleStepEvent, entry: EntryHeader): Promise<void> {
      const outcome = await books.post(event, entry)
      if (outcome !== 'applied') throw new Error(`${event.type} ${entry.id} not booked: ${outcome}`)
    },
  }
}

/** Takes a debt out of what was earned. @returns what is left, where there is something */
export async function recoverDebt(
  book: PayoutLedger,
  provider: string,
  earned: readonly EarningsPart[],
  debt: bigint,
): Promise<readonly EarningsPart[]> {
  let open = debt
  const left: EarningsPart[] = []
  for (const { owner, amount } of earned) {
    const part = open < amount ? open : amount
    open -= part
    if (part > 0n) {
      const event = { type: 'receivable.recovered', earnings: owner.code } as const
      const meta = { author: 'pay-providers', reason: 'Refunded after a payout.', provider }
      await book.post({ ...event, amount: micros(part) }, { owner, id: book.newId(), meta })
    }
    if (part < amount) left.push({ owner, amount: micros(amount - part) })
  }
  return left
}

/** Books every part as in transit, and gathers what lies on other shards. */
export async function postPayoutStart(
  client: PoolClient,
  book: PayoutLedger,
  {
    id,
    provider,
    shard,
  }: { readonly id: string; readonly provider: string; readonly shard: number },
  parts: readonly EarningsPart[],
): Promise<void> {
  const meta = { payout: id, provider }
  const entries = parts.map((part) => ({ ...part, entry: book.newId() }))
  for (const { owner, amount, entry } of entries) {
    const event = { type: 'payout.started', earnings: owner.code, amount } as const
    await book.post(event, { owner, id: entry, meta })
  }
  const transit = await book.account(PAYOUTS)
  const elsewhere = Map.groupBy(
    entries.filter(({ owner }) => owner.shard !== shard),
    ({ owner }) => owner.shard,
  )
  for (const [from, there] of elsewhere) {
    const event = {
      type: 'payout.gathered',
      way: 'leaves',
      amount: micros(sumAmounts(there)),
    } as const
    await book.post(event, { owner: { ...transit, shard: from }, id: book.newId(), meta })
  }
  const carried = micros(sumAmounts([...elsewhere.values()].flat()))
  if (carried > 0n) {
    const owner = { ...(await book.account(BETWEEN_SHARDS)), shard }
    await book.post({ type: 'payout.gathered', way: 'comes', amount: carried }, { owner, id, meta })
  }
  await client.query(
    `INSERT INTO hub.payout_part (payout, account, shard, amount, entry, after_seq, upto_seq)
     SELECT $1, u.account, u.shard, u.amount, u.entry,
       coalesce((SELECT max(p.upto_seq) FROM hub.payout_part p
         WHERE p.account = u.account AND p.shard = u.shard), 0), j.seq
     FROM unnest($2::bigint[], $3::smallint[], $4::bigint[], $5::uuid[])
       u(account, shard, amount, entry)
     JOIN ledger.journal j ON j.owner = u.account AND j.id = u.entry AND j.phase = 0`,
    [
      id,
      entries.map(({ owner }) => owner.id),
      entries.map(({ owner }) => owner.shard),
      entries.map(({ amount }) => amount),
      entries.map(({ entry }) => entry),
    ],
  )
}

/**
 * What providers owe, in microdollars: refunds that were made after they had been paid out, less
 * what was taken out of later earnings, and what was written off (`meta.provider`). Those that owe
 * nothing are left out.
 */
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

export async function readDebt(client: Pool | PoolClient, provider: string): Promise<bigint> {
  const { rows } = await client.query<Debt>(DEBTS_SQL, [provider])
  return rows[0]?.debt ?? 0n
}
