import type { ClientBase } from 'pg'
import { type Ledger, postEntry } from './ledger.ts'

/** What is needed to book events of a single step. */
export type Books = Pick<Ledger, 'account' | 'post'>

/**
 * The books within a transaction of the caller's: what is posted is booked when that commits. Until
 * then everybody else who books on the same shard waits. It is never tried again by itself.
 */
export const booksWithin = (ledger: Books, client: ClientBase): Books => ({
  account: (code) => ledger.account(code),
  async post(event, { effectiveAt, ...entry }) {
    if (effectiveAt === undefined) return postEntry(client, ledger, event, entry)
    const { rows } = await client.query<{ closed: boolean }>(
      'SELECT $1 < ledger.open_since() AS closed',
      [effectiveAt],
    )
    if (!rows[0]!.closed) return postEntry(client, ledger, event, { ...entry, effectiveAt })
    const meta = { ...entry.meta, value_date: effectiveAt.toISOString() }
    return postEntry(client, ledger, event, { ...entry, meta })
  },
})
