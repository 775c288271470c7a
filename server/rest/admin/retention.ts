import type { Pool } from 'pg'
import { z } from 'zod'
import { type RetentionLine, readRetention } from '../../../core/audit/retention.ts'
import type { RetentionDays } from '../../../core/audit/retention-policy.ts'
import { json } from '../../../core/money.ts'
import { type AnyRoute, route } from '../route.ts'

const RetentionView = z.object({
  name: z.string(),
  description: z.string(),
  tables: z.array(z.string()),
  kept: z.enum(['days', 'evidence', 'account', 'state']).meta({
    description:
      'days: a job deletes it. evidence: permanent. account: until its owner removes it. ' +
      'state: replaced during operation.',
  }),
  days: z.int().nullable().meta({ description: 'Days after which a job deletes it.' }),
  setting: z.string().nullable().meta({ description: 'Environment variable of the days.' }),
  deleted_by: z.string().nullable().meta({ description: 'Job that deletes it.' }),
  oldest_at: z.iso.datetime().nullable().meta({
    description: 'Start of the retention period of the oldest row.',
  }),
  overdue_rows: z.int().nullable().meta({
    description: 'Rows that the job should have deleted a day ago. 0 if it works.',
  }),
  protected: z.boolean().nullable().meta({
    description: 'true: the login of the hub has no right to delete it. null: not evidence.',
  }),
})

const RetentionReport = z.object({ data: z.array(RetentionView) })

export type RetentionReportJson = z.infer<typeof RetentionReport>

export interface RetentionDeps {
  readonly pool: Pool
  readonly retention: RetentionDays
}

/** Retention policy: which data is stored how long, and evidence that the jobs follow it. */
export const retentionRoutes = ({ pool, retention }: RetentionDeps): readonly AnyRoute[] => [
  route('GET /v1/admin/retention', {
    summary: 'Lists how long data is stored, what jobs delete, and what is permanent.',
    auth: 'auditor',
    response: { status: 200, schema: RetentionReport },
    handle: async () => {
      const lines = await readRetention(pool, retention)
      return { body: { data: lines.map(showLine) } }
    },
  }),
]

const showLine = (line: RetentionLine) => ({
  name: line.name,
  description: line.data,
  tables: [...line.tables],
  kept: line.kept,
  days: line.days,
  setting: line.setting,
  deleted_by: line.deletedBy,
  oldest_at: line.oldestAt?.toISOString() ?? null,
  overdue_rows: line.overdue === null ? null : json(line.overdue),
  protected: line.isProtected,
})
