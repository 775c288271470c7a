import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import type { Log } from '../log.ts'
import { logFailure, outagesOf, Unavailable } from '../outages.ts'

const MAIL_SERVER = 'mail server'

/** Mail to be composed and sent. */
export interface MailRequest {
  readonly template:
    | 'sign-in'
    | 'payout-sent'
    | 'payout-address'
    | 'credits-expiring'
    | 'rate-decided'
    | 'incident'
    | 'low-balance'
    | 'domain-proof'
  /** Single address. */
  readonly recipient: string
  /** Id of the subject: sign-in link, payout, provider, notice, request, update, fall or domain. */
  readonly subject: string
  /** Time after which the mail is useless and no longer sent. */
  readonly expires: Date
}

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** URL that ends mails of this kind, by one POST (RFC 8058). */
  readonly unsubscribe?: string
}

/** Sends a mail to one address; it may arrive twice if the hub is killed while sending. */
export interface MailTransport {
  send(mail: Mail): Promise<void>
  close(): Promise<void>
}

/** Queues a mail in the transaction of `client`; it is sent only if that commits. */
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

/** The mail server does not respond, or accepts no mail at all. */
export class MailServerUnavailable extends Unavailable {
  override readonly name = 'MailServerUnavailable'
  readonly component = MAIL_SERVER
}

/** Mails of one run. */
const BATCH_MAX = 20
/** Maximum duration of an attempt, after which another process may retry. */
const LEASE_SECONDS = 60

/** Composes and sends mails. */
export interface MailSender {
  readonly transport: MailTransport
  /** Composes a mail; undefined if it need not be sent any more. */
  compose(order: Pick<MailRow, 'template' | 'recipient' | 'subject'>): Promise<Mail | undefined>
}

/** Sends due mails, retrying failures (5, 10, 20 … seconds) until expiry. @returns their number */
export async function sendMails(
  { pool, log }: { readonly pool: Pool; readonly log: Log },
  mailing: MailSender,
): Promise<number> {
  await pool.query('DELETE FROM hub.mail WHERE expires_at <= now()')
  let handled = 0
  for (let tried = 0; tried < BATCH_MAX; tried++) {
    const row = await leaseDueMail(pool)
    if (!row) break
    try {
      const mail = await mailing.compose(row)
      if (mail) {
        await mailing.transport.send(mail)
        outagesOf(log).succeed(MAIL_SERVER)
      }
      await pool.query('DELETE FROM hub.mail WHERE id = $1', [row.id])
      handled++
    } catch (err) {
      const fields = { err, mail: String(row.id), attempts: row.attempts }
      logFailure(log, 'warn', fields, 'failed to send a mail')
      await pool.query(
        `UPDATE hub.mail SET next_at = now() + make_interval(secs => 5 * 2 ^ least(attempts - 1, 8))
         WHERE id = $1`,
        [row.id],
      )
    }
  }
  return handled
}

/**
 * Leases one mail, so that a slow server does not outlast the leases of others. Counts the attempt
 * before sending, so that a mail that crashes the process is retried later.
 */
const leaseDueMail = (pool: Pool): Promise<MailRow | undefined> =>
  inTransaction(pool, async (client) => {
    const { rows } = await client.query<MailRow>(
      `UPDATE hub.mail m SET attempts = attempts + 1,
         next_at = now() + make_interval(secs => $1)
       FROM (SELECT id FROM hub.mail WHERE next_at <= now()
         ORDER BY expires_at, next_at LIMIT 1
         FOR UPDATE SKIP LOCKED) due
       WHERE m.id = due.id
       RETURNING m.id, m.template, m.recipient, m.subject_id AS subject, m.attempts`,
      [LEASE_SECONDS],
    )
    return rows[0]
  })
