import type { Pool, PoolClient } from 'pg'
import { Fault } from '../../errors.ts'
import { prefixedId } from '../../ids.ts'
import { enqueueIncidentMails } from './incident-mail.ts'
import { INCIDENT_DAYS } from './incidents.ts'

export const INCIDENT_STATES = ['investigating', 'identified', 'monitoring', 'resolved'] as const
export type IncidentState = (typeof INCIDENT_STATES)[number]

export interface IncidentUpdate {
  readonly seq: bigint
  readonly at: Date
  readonly state: IncidentState
  readonly message: string
}

/** Incident that an administrator reported. */
export interface ReportedIncident {
  readonly id: string
  readonly title: string
  /** Slug; null for the whole hub. */
  readonly service: string | null
  readonly startedAt: Date
  /** Newest first; the newest one has the current state. */
  readonly updates: readonly IncidentUpdate[]
}

export interface IncidentReport extends Pick<ReportedIncident, 'title' | 'service'> {
  readonly state: IncidentState
  readonly message: string
}

const INCIDENTS_MAX = 50
const UPDATES_MAX = 100
/** Incidents that are not resolved at the same time. */
const OPEN_MAX = 20

/** SQL of the current state of incident `i`. */
const STATE = `(SELECT u.state FROM hub.incident_update u WHERE u.incident = i.id
  ORDER BY u.seq DESC LIMIT 1)`

/**
 * Reports an incident with its first update. Returns its id.
 * @throws Fault `validation_failed` for an unknown service, or if one of that title is open
 */
export async function reportIncident(
  client: PoolClient,
  { title, service, state, message }: IncidentReport,
): Promise<string> {
  const { rows: open } = await client.query<{ title: string }>(
    `SELECT i.title FROM hub.incident i WHERE ${STATE} <> 'resolved' LIMIT ${OPEN_MAX}`,
  )
  if (open.some((each) => each.title === title)) {
    throw invalid('title', 'is that of an open incident: add an update to it')
  }
  if (open.length === OPEN_MAX) {
    throw invalid('title', `cannot be published: ${OPEN_MAX} incidents are open`)
  }
  if (service !== null) await assertService(client, service)
  const id = prefixedId('inc')
  await client.query('INSERT INTO hub.incident (id, title, service) VALUES ($1, $2, $3)', [
    id,
    title,
    service,
  ])
  await addIncidentUpdate(client, id, { state, message })
  return id
}

async function assertService(client: PoolClient, slug: string): Promise<void> {
  const { rows } = await client.query('SELECT FROM hub.service WHERE slug = $1', [slug])
  if (rows.length === 0) throw invalid('service', 'is not the slug of a service')
}

const invalid = (field: string, message: string): Fault =>
  new Fault('validation_failed', `/${field}: ${message}.`, {
    extras: { issues: [{ path: `/${field}`, message }] },
  })

/** Adds an update to an incident, and emails it to subscribers. @throws Fault `not_found` */
export async function addIncidentUpdate(
  client: PoolClient,
  id: string,
  { state, message }: Pick<IncidentReport, 'state' | 'message'>,
): Promise<void> {
  const { rows } = await client.query<{ seq: string }>(
    `INSERT INTO hub.incident_update (incident, state, message)
     SELECT i.id, $2, $3 FROM hub.incident i WHERE i.id = $1
       AND ($2 = 'resolved' OR
         (SELECT count(*) FROM hub.incident_update u WHERE u.incident = i.id) < ${UPDATES_MAX})
     RETURNING seq::text`,
    [id, state, message],
  )
  const [added] = rows
  if (!added)
    throw new Fault(
      'not_found',
      `There is no such incident, or it has ${UPDATES_MAX} updates: it can only be resolved.`,
    )
  await enqueueIncidentMails(client, added.seq)
}

/** Lists the reported incidents of the last days, and older ones that are open, newest first. */
export async function listReportedIncidents(
  pool: Pick<Pool, 'query'>,
): Promise<readonly ReportedIncident[]> {
  const { rows } = await pool.query<Omit<ReportedIncident, 'updates'>>(
    `SELECT i.id, i.title, i.service, i.started_at AS "startedAt" FROM hub.incident i
     WHERE i.started_at > now() - make_interval(days => $1) OR ${STATE} <> 'resolved'
     ORDER BY i.started_at DESC, i.id LIMIT $2`,
    [INCIDENT_DAYS, INCIDENTS_MAX],
  )
  if (rows.length === 0) return []
  const { rows: updates } = await pool.query<IncidentUpdate & { readonly incident: string }>(
    `SELECT incident, seq, at, state, message FROM hub.incident_update
     WHERE incident = ANY ($1) ORDER BY seq DESC`,
    [rows.map(({ id }) => id)],
  )
  const byIncident = Map.groupBy(updates, ({ incident }) => incident)
  return rows.map((row) => ({ ...row, updates: byIncident.get(row.id) ?? [] }))
}
