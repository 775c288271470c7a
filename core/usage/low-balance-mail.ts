import type { Pool, PoolClient } from 'pg'
import type { Mail } from '../mail/queue.ts'
import { unsubscribeUrl } from '../mail/subscriptions.ts'
import { lowBalanceMail } from '../mail/templates.ts'
import { priceTag } from '../money.ts'
import type { LowBalance } from './low-balance.ts'

/** Days after which nobody needs the warning any more. */
const USEFUL_DAYS = 1

/** Queues an email for the subscribers that own the key, in the transaction that found the fall. */
export async function enqueueLowBalanceMails(client: PoolClient, fall: LowBalance): Promise<void> {
  await client.query(
    `INSERT INTO hub.mail (template, recipient, subject_id, expires_at)
     SELECT 'low-balance', p.email, concat_ws(':', k.credits, $2::text, $3::text),
       now() + make_interval(days => $4)
     FROM hub.api_key k
     LEFT JOIN hub.wallet_link w ON w.wallet = k.principal
     JOIN hub.person p ON p.principal = coalesce(w.person, k.principal)
     JOIN hub.balance_subscription s ON s.person = p.principal
     WHERE k.id = split_part($1, ':', 3) AND k.revoked_at IS NULL`,
    [fall.account, fall.shard, fall.seq, USEFUL_DAYS],
  )
}

interface FallRow {
  readonly id: string
  readonly name: string | null
  readonly balance: bigint
  readonly threshold: bigint
  readonly token: string
}

/** Composes the email about a fall; undefined if the recipient has unsubscribed. */
export async function composeLowBalanceMail(
  pool: Pool,
  recipient: string,
  subject: string,
  baseUrl: string,
): Promise<Mail | undefined> {
  const { rows } = await pool.query<FallRow>(
    `SELECT k.id, k.name, l.balance, l.threshold, s.token
     FROM hub.low_balance l JOIN hub.api_key k ON k.credits = l.account AND k.parent IS NULL
     CROSS JOIN hub.balance_subscription s JOIN hub.person p ON p.principal = s.person
     WHERE l.account = $1 AND l.shard = $2 AND l.seq = $3 AND p.email = $4`,
    [...subject.split(':'), recipient],
  )
  const [found] = rows
  if (!found) return undefined
  const { id, name, balance, threshold, token } = found
  return lowBalanceMail(recipient, new URL(baseUrl).host, {
    key: name === null ? id : `${name} (${id})`,
    balance: priceTag(balance),
    threshold: priceTag(threshold),
    topUp: `${baseUrl}/topup?key_id=${id}`,
    unsubscribe: unsubscribeUrl(baseUrl, token),
  })
}
