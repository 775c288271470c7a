import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import type { Role } from '../identity/roles.ts'

/** Who does something that not everybody may do. */
export interface Actor {
  /** As people know them: an address of mail, a wallet; at the command line a name. */
  readonly name: string
  /** Null: whoever runs the hub, at the command line. */
  readonly principal: string | null
  /** The key or the session by which they came. */
  readonly via: string | null
  readonly role: Role | 'operator'
  readonly requestId: string | null
  /** An IPv4 /24 or an IPv6 /64. */
  readonly network: string | null
}

/** Whoever runs the hub, at the command line, by the name that they give. */
export const operator = (name: string): Actor => ({
  name,
  principal: null,
  via: null,
  role: 'operator',
  requestId: null,
  network: null,
})

/** Privileged acts, all of them. A line of the log has one. */
export const ACTS = [
  'role.grant',
  'role.revoke',
  'service.approve',
  'service.suspend',
  'service.resume',
  'provider.assign',
  'provider.suspend',
  'provider.resume',
  'commission.set',
  'key.freeze',
  'key.thaw',
  'key.rate',
  'entry.adjust',
  'entry.propose',
  'entry.confirm',
  'entry.decline',
  'call.refund',
  'period.close',
  'exception.resolve',
  'transfer.book',
  'outgoing.pause',
  'outgoing.resume',
  'export.start',
] as const
export type ActName = (typeof ACTS)[number]

/** What an act changed. */
export interface Change {
  readonly act: ActName
  /** What it was done to: the id of a key, a slug, an account … */
  readonly subject: string
  readonly before?: unknown
  readonly after?: unknown
}

/**
 * Does something privileged, and writes it into the audit log, in one transaction: both are there,
 * or neither. An act that changed nothing notes nothing. Acts come one after the other.
 * @param work notes each change that it makes
 */
export const audited = <T>(
  pool: Pool,
  by: Actor,
  reason: string,
  work: (client: PoolClient, note: (change: Change) => void) => Promise<T>,
): Promise<T> =>
  inTransaction(pool, async (client) => {
    await client.query('SELECT hub.begin_act()')
    const changes: Change[] = []
    const result = await work(client, (change) => changes.push(change))
    for (const { act, subject, before, after } of changes) {
      await client.query('SELECT hub.add_audit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)', [
        by.name,
        by.principal,
        by.via,
        by.role,
        act,
        subject,
        written(before),
        written(after),
        reason,
        by.requestId,
        by.network,
      ])
    }
    return result
  })

/** Amounts are too large for JSON's numbers in many readers: they are texts. */
const written = (value: unknown): string | null =>
  value === undefined || value === null
    ? null
    : JSON.stringify(value, (_, inner: unknown) =>
        typeof inner === 'bigint' ? String(inner) : inner,
      )
