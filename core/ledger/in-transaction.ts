import type { ClientBase } from 'pg'
import { type Ledger, postEntry } from './ledger.ts'

/** The part of the ledger that posts single-step events. */
export type PostingLedger = Pick<Ledger, 'account' | 'post'>

/** Ledger that posts inside the caller's transaction. Failed statements are not retried. */
export const ledgerInTransaction = (ledger: PostingLedger, client: ClientBase): PostingLedger => ({
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
