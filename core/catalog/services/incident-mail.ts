import type { Pool, PoolClient } from 'pg'
import type { Mail } from '../../mail/queue.ts'
import { incidentMail } from '../../mail/templates.ts'

/** Days after which an update is no longer sent. */
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

/** Page that ends the mails of a subscription, named by its token. */
export const UNSUBSCRIBE_PATH = '/unsubscribe'

/** Returns true if the subscription with this token exists. */
export async function hasSubscription(pool: Pool, token: string): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM hub.incident_subscription WHERE token = $1', [
    token,
  ])
  return rowCount === 1
}

/** Ends a subscription by its token; repeating it changes nothing. */
export async function endSubscription(pool: Pool, token: string): Promise<void> {
  await pool.query('DELETE FROM hub.incident_subscription WHERE token = $1', [token])
}

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
    unsubscribe: `${baseUrl}${UNSUBSCRIBE_PATH}?token=${found.token}`,
  })
}
