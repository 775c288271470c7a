import type { Pool } from 'pg'
import type { ActName, Actor } from './record.ts'

export interface AuditLine extends Actor {
  readonly seq: bigint
  readonly at: Date
  readonly act: ActName
  readonly subject: string
  readonly before: unknown
  readonly after: unknown
  readonly reason: string
  /** Hash of this line and of the previous hash, in hex. */
  readonly hash: string
}

export interface AuditFilter {
  readonly limit: number
  /** Sequence number before which the page starts. */
  readonly before?: bigint | undefined
  /** An act, or all acts of a kind: `key.freeze`, `key`. */
  readonly act?: string | undefined
  readonly subject?: string | undefined
  readonly name?: string | undefined
  readonly role?: Actor['role'] | undefined
  /** Time of the act: `from` inclusive, `to` exclusive. */
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

export async function listAudit(pool: Pool, filter: AuditFilter): Promise<readonly AuditLine[]> {
  const { limit, before, act, subject, name, role, from, to } = filter
  const { rows } = await pool.query<AuditLine>(
    `SELECT seq, at, name, principal, via, role, act, subject, before, after, reason,
       request AS "requestId", network, encode(hash, 'hex') AS hash FROM hub.audit
     WHERE ($1::bigint IS NULL OR seq < $1)
       AND ($2::text IS NULL OR act = $2 OR split_part(act, '.', 1) = $2)
       AND ($3::text IS NULL OR subject = $3) AND ($4::text IS NULL OR name = $4)
       AND ($5::timestamptz IS NULL OR at >= $5) AND ($6::timestamptz IS NULL OR at < $6)
       AND ($8::text IS NULL OR role = $8)
     ORDER BY seq DESC LIMIT $7`,
    [before, act, subject, name, from, to, limit, role].map((value) => value ?? null),
  )
  return rows
}
