import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import type { Role } from '../identity/roles.ts'
import { cleanText } from '../text.ts'

/** Author of a privileged act. */
export interface Actor {
  /** Name for people: an email address or a wallet; on the command line a name. */
  readonly name: string
  /** Null for an operator on the command line. */
  readonly principal: string | null
  /** Key or session that authenticated the request; of a command, the operating system user. */
  readonly via: string | null
  readonly role: Role | 'operator'
  readonly requestId: string | null
  /** IPv4 /24 or IPv6 /64. */
  readonly network: string | null
}

/**
 * Actor for an operator on the command line.
 * @param name self-chosen
 * @param user name of the operating system user
 */
export const operator = (name: string, user?: string): Actor => ({
  name,
  principal: null,
  via: user === undefined ? null : `os:${user}`,
  role: 'operator',
  requestId: null,
  network: null,
})

/** All privileged acts. Each line of the log has one. */
export const ACTS = [
  'role.grant',
  'role.confirm',
  'role.review',
  'role.revoke',
  'service.approve',
  'service.refuse',
  'service.suspend',
  'service.resume',
  'provider.approve',
  'provider.assign',
  'provider.refuse',
  'provider.suspend',
  'provider.resume',
  'commission.set',
  'key.freeze',
  'key.thaw',
  'key.rate',
  'key.refuse',
  'entry.adjust',
  'entry.propose',
  'entry.confirm',
  'entry.decline',
  'call.refund',
  'debt.cancel',
  'debt.recover',
  'credits.transfer',
  'credits.lapse',
  'holdings.revalue',
  'period.close',
  'backup.accept',
  'incident.report',
  'incident.update',
  'exception.resolve',
  'transfer.book',
  'payout.approve',
  'payout.recover',
  'outgoing.pause',
  'outgoing.resume',
  'chain.reset',
  'export.start',
  'calls.detach',
  'calls.drop',
  'act.refuse',
  'secret.rotate',
  'secret.retire',
  'secret.rewrap',
] as const
export type ActName = (typeof ACTS)[number]

export interface AuditedChange {
  readonly act: ActName
  /** Object of the act: the id of a key, a slug, an account … */
  readonly subject: string
  readonly before?: unknown
  readonly after?: unknown
}

/**
 * Runs a privileged act and writes its changes to the audit log in the same transaction. Acts are
 * serialized. An act without changes writes nothing.
 * @param work calls `note` for each change
 */
export const withAudit = <T>(
  pool: Pool,
  by: Actor,
  reason: string,
  work: (client: PoolClient, note: (change: AuditedChange) => void) => Promise<T>,
): Promise<T> =>
  inTransaction(pool, async (client) => {
    await client.query('SELECT hub.begin_act()')
    const changes: AuditedChange[] = []
    const result = await work(client, (change) => changes.push(change))
    for (const { act, subject, before, after } of changes) {
      await client.query('SELECT hub.add_audit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)', [
        by.name,
        by.principal,
        by.via,
        by.role,
        act,
        subject,
        toJsonText(before),
        toJsonText(after),
        cleanText(reason, REASON_MAX),
        by.requestId,
        by.network,
      ])
    }
    return result
  })

/** Records that a staff member was refused an act. @param subject method and path of the request */
export const recordRefusal = (
  pool: Pool,
  by: Actor,
  subject: string,
  { code, message }: { readonly code: string; readonly message: string },
): Promise<void> =>
  withAudit(pool, by, message, async (_, note) => {
    note({ act: 'act.refuse', subject, after: { code } })
  })

/** Longer ones are cut. */
const REASON_MAX = 500

/** Converts to JSON with amounts as text: they exceed the number range of many JSON readers. */
const toJsonText = (value: unknown): string | null =>
  value === undefined || value === null
    ? null
    : JSON.stringify(value, (_, inner: unknown) =>
        typeof inner === 'bigint' ? String(inner) : inner,
      )
