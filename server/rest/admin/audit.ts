import type { Pool } from 'pg'
import { z } from 'zod'
import { AuditProof } from '../../../core/audit/proof.ts'
import { type AuditLine, listAudit } from '../../../core/audit/read.ts'
import type { Clock } from '../../../core/clock.ts'
import { json } from '../../../core/money.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { type AnyRoute, route } from '../route.ts'

const Line = z.object({
  seq: z.int(),
  at: z.iso.datetime(),
  name: z.string().meta({ description: 'Who: an address of mail, a wallet; else a name.' }),
  via: z.string().nullable().meta({ description: 'The key or the session.' }),
  role: z.enum(['admin', 'finance', 'operator']).meta({
    description: 'operator: whoever runs the hub, at the command line.',
  }),
  act: z.string(),
  subject: z.string().meta({ description: 'What it was done to.' }),
  before: z.unknown(),
  after: z.unknown(),
  reason: z.string(),
  request_id: z.string().nullable(),
  network: z.string().nullable().meta({ description: 'An IPv4 /24 or an IPv6 /64.' }),
  hash: z.string().meta({ description: 'sha256 over this line and the hash of the one before.' }),
})

const Chain = z.object({
  lines: z.int(),
  head: z.string().nullable().meta({
    description: 'The hash of the newest line: kept elsewhere, it proves the log.',
  }),
  broken_at: z.int().nullable().meta({
    description: 'The first line that was changed, taken away or added; null: none.',
  }),
  all_read_at: z.iso.datetime().meta({ description: 'When every line was read.' }),
  all_read_lines: z.int().meta({ description: 'How many there were then.' }),
})

export type AuditLineJson = z.infer<typeof Line>
export type AuditChainJson = z.infer<typeof Chain>

export interface AuditPorts {
  readonly pool: Pool
  readonly clock: Clock
}

/** The audit log: every privileged act, for ever. */
export const auditRoutes = ({ pool, clock }: AuditPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/admin/audit',
    summary: 'Every privileged act: who, what, why, before and after; the newest first.',
    auth: 'finance',
    query: z.strictObject({
      ...paging,
      act: z
        .string()
        .regex(/^[a-z_]+(?:\.[a-z_]+)?$/, 'an act such as key.freeze, or all of key')
        .optional(),
      subject: z.string().max(300).optional(),
      name: z.string().max(254).optional().meta({ description: 'Who did it.' }),
      from: z.iso.date().optional().meta({ description: 'The first UTC day.' }),
      to: z.iso.date().optional().meta({ description: 'The last UTC day.' }),
    }),
    answer: { status: 200, schema: pageOf(Line) },
    handle: async ({ query, url }) => {
      const { limit, cursor, act, subject, name } = query
      const [before] = readCursor(cursor, z.tuple([z.int().min(1)])) ?? []
      const lines = await listAudit(pool, {
        act,
        subject,
        name,
        limit: limit + 1,
        before: before === undefined ? undefined : BigInt(before),
        ...daysOf(query),
      })
      return page(lines, limit, url, ({ seq }) => [json(seq)], show)
    },
  }),
  chainRoute(new AuditProof(pool, clock)),
]

const chainRoute = (proof: AuditProof): AnyRoute =>
  route({
    method: 'GET',
    path: '/v1/admin/audit/chain',
    summary: 'Whether the audit log is as it was written: every line has the hash of the last.',
    auth: 'finance',
    query: z.strictObject({
      read: z.enum(['all', 'new']).default('all').meta({
        description: 'new: the lines that came since all were read, if that was within a day.',
      }),
    }),
    answer: { status: 200, schema: Chain },
    handle: async ({ query }) => {
      const { lines, head, brokenAt, whole } =
        await proof[query.read === 'all' ? 'all' : 'latest']()
      return {
        body: {
          lines: json(lines),
          head,
          broken_at: brokenAt === null ? null : json(brokenAt),
          all_read_at: whole.at.toISOString(),
          all_read_lines: json(whole.lines),
        },
      }
    },
  })

const DAY_MS = 86_400_000
/** The last instant that is written with four digits of a year. */
const LAST = Date.parse('9999-12-31T00:00:00Z')

/** Whole UTC days, the last one included, as instants. */
export const daysOf = (days: {
  readonly from?: string | undefined
  readonly to?: string | undefined
}): { readonly from: Date | undefined; readonly to: Date | undefined } => ({
  from: days.from === undefined ? undefined : new Date(`${days.from}T00:00:00Z`),
  to:
    days.to === undefined
      ? undefined
      : new Date(Math.min(LAST, Date.parse(`${days.to}T00:00:00Z`) + DAY_MS)),
})

const show = (line: AuditLine): z.infer<typeof Line> => ({
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
