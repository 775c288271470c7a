import type { Pool } from 'pg'
import { z } from 'zod'
import { withAudit } from '../../../core/audit/record.ts'
import {
  addIncidentUpdate,
  INCIDENT_STATES,
  listReportedIncidents,
  type ReportedIncident,
  reportIncident,
} from '../../../core/catalog/services/reported-incidents.ts'
import { auditReason, plainText, slug } from '../fields.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

const state = z.enum(INCIDENT_STATES)

const IncidentView = z.object({
  id: z.string(),
  title: z.string(),
  service: z.string().nullable().meta({ description: 'Affected service; null: the whole hub.' }),
  started_at: z.iso.datetime(),
  updates: z
    .array(z.object({ at: z.iso.datetime(), state, message: z.string() }))
    .meta({ description: 'Newest first; the newest one has the current state.' }),
})
export type ReportedIncidentJson = z.infer<typeof IncidentView>

const message = plainText(1_000).meta({
  description: 'What callers see and what it costs them, as published on the status page.',
})

/** Incidents that administrators write, shown on the status page and in its RSS feed. */
export const incidentRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route('GET /v1/admin/incidents', {
    summary: 'Lists the reported incidents of 90 days, and older ones that are open, newest first.',
    auth: 'admin',
    response: { status: 200, schema: z.object({ data: z.array(IncidentView) }) },
    handle: async () => ({ body: { data: (await listReportedIncidents(pool)).map(show) } }),
  }),
  route('POST /v1/admin/incidents', {
    summary: 'Publishes an incident with its first update.',
    auth: 'admin',
    body: z.strictObject({
      title: plainText(120),
      service: slug.nullable().default(null),
      state: state.default('investigating'),
      message,
      reason: auditReason,
    }),
    example: {
      title: 'Slow payments',
      message: 'Payments are confirmed late. Nobody is charged twice.',
      reason: 'Alert of the chain node',
    },
    response: { status: 201, schema: z.object({ id: z.string() }) },
    handle: async (request) => {
      const { reason, ...report } = request.body
      const id = await withAudit(pool, staffOf(request), reason, async (client, note) => {
        const created = await reportIncident(client, report)
        note({ act: 'incident.report', subject: created, after: report })
        return created
      })
      return { body: { id } }
    },
  }),
  route('POST /v1/admin/incidents/{id}', {
    summary: 'Publishes an update of an incident, such as its end.',
    auth: 'admin',
    body: z.strictObject({ state, message, reason: auditReason }),
    example: {
      state: 'resolved',
      message: 'Payments are confirmed within seconds again.',
      reason: 'The node has caught up',
    },
    response: { status: 200, schema: z.object({ id: z.string() }) },
    faults: ['not_found'],
    handle: async (request) => {
      const { id } = request.params
      const { reason, ...update } = request.body
      await withAudit(pool, staffOf(request), reason, async (client, note) => {
        await addIncidentUpdate(client, id, update)
        note({ act: 'incident.update', subject: id, after: update })
      })
      return { body: { id } }
    },
  }),
]

const show = ({ startedAt, updates, ...incident }: ReportedIncident): ReportedIncidentJson => ({
  ...incident,
  started_at: startedAt.toISOString(),
  updates: updates.map(({ at, state: then, message: text }) => ({
    at: at.toISOString(),
    state: then,
    message: text,
  })),
})
