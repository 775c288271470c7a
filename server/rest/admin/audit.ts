import type { Pool } from 'pg'
import { z } from 'zod'
import { AuditProof } from '../../../core/audit/chain-proof.ts'
import { type AuditLine, listAudit } from '../../../core/audit/list.ts'
import type { Clock } from '../../../core/clock.ts'
import { json } from '../../../core/money.ts'
import { dayBounds, dayFields } from '../days.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, route } from '../route.ts'

const AuditLineView = z.object({
  seq: z.int(),
  at: z.iso.datetime(),
  name: z.string().meta({ description: 'Actor: an email address, a wallet, or a name.' }),
  via: z.string().nullable().meta({
    description: 'Key id or session id; of a command, os: and the operating system user.',
  }),
  role: z.enum(['admin', 'finance', 'auditor', 'operator']).meta({
    description: 'operator: a person at the command line of the hub.',
  }),
  act: z.string(),
  subject: z.string().meta({ description: 'Object of the action.' }),
  before: z.unknown(),
  after: z.unknown(),
  reason: z.string(),
  request_id: z.string().nullable(),
  network: z.string().nullable().meta({ description: 'Network: an IPv4 /24 or IPv6 /64.' }),
  hash: z.string().meta({ description: 'SHA-256 of this line and the previous hash.' }),
})

const AuditChainView = z.object({
  lines: z.int(),
  head: z.string().nullable().meta({
    description: 'Hash of the newest line. A copy stored elsewhere proves the log.',
  }),
  broken_at: z.int().nullable().meta({
    description: 'First line that was changed, removed or inserted. null: the log is intact.',
  }),
  all_read_at: z.iso.datetime().meta({ description: 'Time of the last full check.' }),
  all_read_lines: z.int().meta({ description: 'Number of lines in the last full check.' }),
})

export type AuditLineJson = z.infer<typeof AuditLineView>
export type AuditChainJson = z.infer<typeof AuditChainView>

export interface AuditDeps {
  readonly pool: Pool
  readonly clock: Clock
}

/** The audit log, a permanent record of every privileged action. */
export const auditRoutes = ({ pool, clock }: AuditDeps): readonly AnyRoute[] => [
  route('GET /v1/admin/audit', {
    summary: 'Lists privileged actions with actor, reason, before and after, newest first.',
    auth: 'finance',
    query: listQuery({
      act: z
        .string()
        .regex(/^[a-z_]+(?:\.[a-z_]+)?$/, 'must be an action (key.freeze) or group (key)')
        .optional(),
      subject: z.string().max(300).optional(),
      name: z.string().max(254).optional().meta({ description: 'Actor.' }),
      role: z.enum(['admin', 'finance', 'auditor', 'operator']).optional(),
      ...dayFields,
    }),
    response: { status: 200, schema: pageSchema(AuditLineView) },
    handle: async ({ query, url }) => {
      const { limit, cursor, act, subject, name, role } = query
      const [before] = readCursor(cursor, z.tuple([z.int().min(1)])) ?? []
      const lines = await listAudit(pool, {
        act,
        subject,
        name,
        role,
        limit: limit + 1,
        before: before === undefined ? undefined : BigInt(before),
        ...dayBounds(query),
      })
      return toPage(lines, limit, url, ({ seq }) => [json(seq)], showLine)
    },
  }),
  chainRoute(new AuditProof(pool, clock)),
]

const chainRoute = (proof: AuditProof): AnyRoute =>
  route('GET /v1/admin/audit/chain', {
    summary: 'Verifies the hash chain of the audit log.',
    auth: 'finance',
    query: z.strictObject({
      read: z.enum(['all', 'new']).default('all').meta({
        description: 'new: checks only lines added since the last full check, if within a day.',
      }),
    }),
    response: { status: 200, schema: AuditChainView },
    handle: async ({ query }) => {
      const { lines, head, brokenAt, lastFull } =
        query.read === 'all' ? await proof.verifyAll() : await proof.verifyRecent()
      return {
        body: {
          lines: json(lines),
          head,
          broken_at: brokenAt === null ? null : json(brokenAt),
          all_read_at: lastFull.at.toISOString(),
          all_read_lines: json(lastFull.lines),
        },
      }
    },
  })

const showLine = (line: AuditLine): z.infer<typeof AuditLineView> => ({
  seq: json(line.seq),
  at: line.at.toISOString(),
  name: line.name,
  via: line.via,
  role: line.role,
  act: line.act,
  subject: line.subject,
  before: line.before,
  after: line.after,
  reason: line.reason,
  request_id: line.requestId,
  network: line.network,
  hash: line.hash,
})
