import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import type { Log } from '../log.ts'

/** A mail that is to be written and sent. */
export interface MailRequest {
  readonly template: 'sign-in' | 'payout-sent' | 'payout-address'
  /** One address. */
  readonly recipient: string
  /** What it is about: of a sign-in, the id of the link; of a payout, its id. */
  readonly subject: string
  /** After it nobody needs the mail. */
  readonly expires: Date
}

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Sends one mail to one address. It may come twice when the hub is killed on the way. */
export interface MailTransport {
  send(mail: Mail): Promise<void>
  close(): Promise<void>
}

/** Puts a mail into the queue: it is sent if, and only if, the transaction of `client` commits. */
export async function enqueueMail(client: PoolClient, order: MailRequest): Promise<void> {
  await client.query(
    `INSERT INTO hub.mail (template, recipient, subject_id, expires_at) VALUES ($1, $2, $3, $4)`,
    [order.template, order.recipient, order.subject, order.expires],
  )
}

interface MailRow {
  readonly id: bigint
  readonly template: MailRequest['template']
  readonly recipient: string
  readonly subject: string
  readonly attempts: number
}

const BATCH_MAX = 20
/** Of one attempt, with whatever the mail server takes: then another process may try. */
const LEASE_SECONDS = 60

/** Who writes mails, and who sends them. */
export interface MailSender {
  readonly transport: MailTransport
  /** The words of a mail; undefined when it is not to be sent after all. */
  compose(order: Pick<MailRow, 'template' | 'recipient' | 'subject'>): Promise<Mail | undefined>
}

/**
 * Sends what is due. A mail that fails is tried again, later each time (5, 10, 20 … seconds), until
 * nobody needs it.
 * @returns how many were sent
 */
export async function sendMails(
  { pool, log }: { readonly pool: Pool; readonly log: Log },
  mailing: MailSender,
): Promise<number> {
  await pool.query('DELETE FROM hub.mail WHERE expires_at <= now()')
  let sent = 0
  for (const row of await leaseDueMails(pool)) {
    try {
      const mail = await mailing.compose(row)
      if (mail) await mailing.transport.send(mail)
      await pool.query('DELETE FROM hub.mail WHERE id = $1', [row.id])
      sent++
    } catch (error) {
      log.warn({ err: error, mail: String(row.id), attempts: row.attempts }, 'a mail was not sent')
      await pool.query(
        `UPDATE hub.mail SET next_at = now() + make_interval(secs => 5 * 2 ^ least(attempts - 1, 8))
         WHERE id = $1`,
        [row.id],
      )
    }
  }
  return sent
}

/** Marks mails as tried before they are: one that kills its process does not come at once again. */
const leaseDueMails = (pool: Pool): Promise<readonly MailRow[]> =>
  inTransaction(pool, async (client) => {
    const { rows } = await client.query<MailRow>(
      `UPDATE hub.mail m SET attempts = attempts + 1,
         next_at = now() + make_interval(secs => $2)
       FROM (SELECT id FROM hub.mail WHERE next_at <= now() ORDER BY next_at LIMIT $1
         FOR UPDATE SKIP LOCKED) due
       WHERE m.id = due.id
       RETURNING m.id, m.template, m.recipient, m.subject_id AS subject, m.attempts`,
      [BATCH_MAX, LEASE_SECONDS],
    )
    return rows
  })
