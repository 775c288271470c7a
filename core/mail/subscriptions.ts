import type { Pool } from 'pg'

/** Tables of subscriptions by the topic of their emails. */
const TABLES = {
  incidents: 'hub.incident_subscription',
  balance: 'hub.balance_subscription',
} as const

/** Topic of emails that people get only if they ask for them. */
export type MailTopic = keyof typeof TABLES

const TOPICS = Object.keys(TABLES) as MailTopic[]

/** Returns true if a person gets emails about a topic. */
export async function isSubscribed(pool: Pool, topic: MailTopic, person: string): Promise<boolean> {
  const { rowCount } = await pool.query(`SELECT FROM ${TABLES[topic]} WHERE person = $1`, [person])
  return rowCount === 1
}

/** Starts or ends the emails of a person; repeating it changes nothing. */
export async function setSubscribed(
  pool: Pool,
  topic: MailTopic,
  person: string,
  isOn: boolean,
): Promise<void> {
  await pool.query(
    isOn
      ? `INSERT INTO ${TABLES[topic]} (person) VALUES ($1) ON CONFLICT DO NOTHING`
      : `DELETE FROM ${TABLES[topic]} WHERE person = $1`,
    [person],
  )
}

/** Page that ends the mails of a subscription, named by its token. */
export const UNSUBSCRIBE_PATH = '/unsubscribe'

/** URL in an email that ends emails of its kind. */
export const unsubscribeUrl = (baseUrl: string, token: string): string =>
  `${baseUrl}${UNSUBSCRIBE_PATH}?token=${token}`

/** Finds the topic of the subscription with this token. */
export async function findTopic(pool: Pool, token: string): Promise<MailTopic | undefined> {
  const { rows } = await pool.query<{ topic: MailTopic }>(
    TOPICS.map((topic) => `SELECT '${topic}' AS topic FROM ${TABLES[topic]} WHERE token = $1`).join(
      ' UNION ALL ',
    ),
    [token],
  )
  return rows[0]?.topic
}

/** Ends a subscription by its token; repeating it changes nothing. */
export async function endSubscription(pool: Pool, token: string): Promise<void> {
  for (const topic of TOPICS) {
    await pool.query(`DELETE FROM ${TABLES[topic]} WHERE token = $1`, [token])
  }
}
