import type { Pool, PoolClient } from 'pg'
import type { Mail } from '../../mail/queue.ts'
import { incidentMail } from '../../mail/templates.ts'

/** Days after which nobody needs an update any more. */
const USEFUL_DAYS = 1

/** Returns true if a person gets reported incidents by email. */
export async function isSubscribed(pool: Pool, person: string): Promise<boolean> {
  const { rows } = await pool.query('SELECT FROM hub.incident_subscription WHERE person = $1', [
    person,
  ])
  return rows.length > 0
}

/** Starts or ends the emails of a person; repeating it changes nothing. */
export async function setSubscribed(pool: Pool, person: string, isOn: boolean): Promise<void> {
  await pool.query(
    isOn
      ? 'INSERT INTO hub.incident_subscription (person) VALUES ($1) ON CONFLICT DO NOTHING'
      : 'DELETE FROM hub.incident_subscription WHERE person = $1',
    [person],
  )
}

/** Queues a mail about an update for every subscriber, in the transaction of the update. */
export async function enqueueIncidentMails(client: PoolClient, seq: string): Promise<void> {
  await client.query(
    `INSERT INTO hub.mail (template, recipient, subject_id, expires_at)
     SELECT 'incident', p.email, $1, now() + make_interval(days => $2)
     FROM hub.incident_subscription s JOIN hub.person p ON p.principal = s.person`,
    [seq, USEFUL_DAYS],
  )
}

/** Composes the mail about an update; undefined if the recipient has unsubscribed. */
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
  }>(
    `SELECT i.id, i.title, u.state, u.message
     FROM hub.incident_update u JOIN hub.incident i ON i.id = u.incident
     WHERE u.seq = $1 AND EXISTS (SELECT FROM hub.incident_subscription s
       JOIN hub.person p ON p.principal = s.person WHERE p.email = $2)`,
    [seq, recipient],
  )
  const [found] = rows
  if (!found) return undefined
  return incidentMail(recipient, new URL(baseUrl).host, {
    ...found,
    page: `${baseUrl}/status#${found.id}`,
    settings: `${baseUrl}/account/notifications`,
  })
}
