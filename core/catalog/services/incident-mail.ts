import type { Pool, PoolClient } from 'pg'
import type { Mail } from '../../mail/queue.ts'
import { unsubscribeUrl } from '../../mail/subscriptions.ts'
import { incidentMail } from '../../mail/templates.ts'

/** Days after which an update is no longer sent. */
const USEFUL_DAYS = 1

/** Queues an email about an update for every subscriber, in the transaction of the update. */
export async function enqueueIncidentMails(client: PoolClient, seq: string): Promise<void> {
  await client.query(
    `INSERT INTO hub.mail (template, recipient, subject_id, expires_at)
     SELECT 'incident', p.email, $1, now() + make_interval(days => $2)
     FROM hub.incident_subscription s JOIN hub.person p ON p.principal = s.person`,
    [seq, USEFUL_DAYS],
  )
}

/** Composes the email about an update; undefined if the recipient has unsubscribed. */
export async function composeIncidentMail(
  pool: Pool,
  recipient: string,
  seq: string,
  baseUrl: string,
): Promise<Mail | undefined> {
  const { rows } = await pool.query<{
    id: string
    title: string
    state: string
    message: string
    token: string
  }>(
    `SELECT i.id, i.title, u.state, u.message, s.token
     FROM hub.incident_update u JOIN hub.incident i ON i.id = u.incident
       CROSS JOIN hub.incident_subscription s JOIN hub.person p ON p.principal = s.person
     WHERE u.seq = $1 AND p.email = $2`,
    [seq, recipient],
  )
  const [found] = rows
  if (!found) return undefined
  return incidentMail(recipient, new URL(baseUrl).host, {
    ...found,
    page: `${baseUrl}/status#${found.id}`,
    unsubscribe: unsubscribeUrl(baseUrl, found.token),
  })
}
