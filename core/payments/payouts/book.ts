import type { PoolClient } from 'pg'
import type { Clock } from '../../clock.ts'
import { uuidv7 } from '../../ids.ts'
import type { SingleStepEvent } from '../../ledger/events.ts'
import { booksWithin } from '../../ledger/in-transaction.ts'
import type { AccountRef, Entry, Ledger } from '../../ledger/ledger.ts'
import { BETWEEN_SHARDS, PAYOUTS } from '../../ledger/postings.ts'
import { type Micros, micros } from '../../money.ts'

/** What a provider has on one account and shard. */
export interface Part {
  readonly owner: AccountRef
  readonly amount: Micros
}

export const total = (parts: readonly Part[]): bigint =>
  parts.reduce((sum, { amount }) => sum + amount, 0n)

type Bookkeeper = ReturnType<typeof bookkeeper>

/** Books in the transaction of `client`. */
export function bookkeeper(
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
  client: PoolClient,
) {
  const books = booksWithin(ledger, client)
  return {
    account: books.account,
    newId: () => uuidv7(clock.now().getTime()),
    /** @throws Error when it is refused: then nothing of the payout happens */
    async post(event: SingleStepEvent, entry: Entry): Promise<void> {
      const outcome = await books.post(event, entry)
      if (outcome !== 'applied') throw new Error(`${event.type} ${entry.id} not booked: ${outcome}`)
    },
  }
}

/** Takes a debt out of what was earned. @returns what is left, where there is something */
export async function recover(
  book: Bookkeeper,
  provider: string,
  earned: readonly Part[],
  debt: bigint,
): Promise<readonly Part[]> {
  let open = debt
  const left: Part[] = []
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
export async function take(
  client: PoolClient,
  book: Bookkeeper,
  {
    id,
    provider,
    shard,
  }: { readonly id: string; readonly provider: string; readonly shard: number },
  parts: readonly Part[],
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
    const event = { type: 'payout.gathered', way: 'leaves', amount: micros(total(there)) } as const
    await book.post(event, { owner: { ...transit, shard: from }, id: book.newId(), meta })
  }
  const carried = micros(total([...elsewhere.values()].flat()))
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
