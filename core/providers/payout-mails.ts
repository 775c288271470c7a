import type { Pool } from 'pg'
import type { Hex } from 'viem'
import { getAddress } from 'viem'
import type { Mail, MailRequest } from '../mail/queue.ts'
import { payoutAddressMail, payoutSentMail } from '../mail/templates.ts'
import { dollars } from '../money.ts'
import { findProviderAddress } from './payout-address.ts'

/**
 * Composes an email about payouts from the state at sending time; undefined if it is outdated.
 * @param subject id of the payout (`payout-sent`) or of the provider (`payout-address`)
 */
export async function composePayoutMail(
  pool: Pool,
  template: Exclude<MailRequest['template'], 'sign-in'>,
  to: string,
  subject: string,
  baseUrl: string,
): Promise<Mail | undefined> {
  const { host } = new URL(baseUrl)
  if (template === 'payout-address') {
    const found = await findProviderAddress(pool, subject)
    if (!found) return undefined
    const shown = (address: Hex | null): string | null => address && getAddress(address)
    const { address, next, nextAt, requested } = found
    const addresses = { address: shown(address), next: shown(next), requested: shown(requested) }
    return payoutAddressMail(to, host, { ...addresses, nextAt })
  }
  const { rows } = await pool.query<{ amount: bigint; payee: Hex; transaction: string }>(
    `SELECT amount, payee, transaction FROM hub.payout WHERE id = $1 AND state = 'confirmed'`,
    [subject],
  )
  const [row] = rows
  if (!row) return undefined
  const statement = new URL(`/v1/provider/payouts/${subject}/statement.csv`, baseUrl).href
  const { amount, payee, transaction } = row
  const words = { dollars: dollars(amount), address: getAddress(payee), transaction, statement }
  return payoutSentMail(to, host, words)
}
