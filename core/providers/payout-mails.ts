import type { Pool } from 'pg'
import type { Hex } from 'viem'
import { getAddress } from 'viem'
import type { Mail } from '../mail/queue.ts'
import { payoutAddressMail, payoutSentMail } from '../mail/templates.ts'
import { dollars } from '../money.ts'
import { findProviderAddress } from './payout-address.ts'

/** Composes the email about the payout address of a provider; undefined if there is none. */
export async function composePayoutAddressMail(
  pool: Pool,
  to: string,
  provider: string,
  baseUrl: string,
): Promise<Mail | undefined> {
  const found = await findProviderAddress(pool, provider)
  if (!found) return undefined
  const shown = (address: Hex | null): string | null => address && getAddress(address)
  const { address, next, nextAt, requested } = found
  const addresses = { address: shown(address), next: shown(next), requested: shown(requested) }
  return payoutAddressMail(to, new URL(baseUrl).host, { ...addresses, nextAt })
}

/** Composes the email about a payout that is final; undefined if it is not. */
export async function composePayoutSentMail(
  pool: Pool,
  to: string,
  payout: string,
  baseUrl: string,
): Promise<Mail | undefined> {
  const { rows } = await pool.query<{ amount: bigint; payee: Hex; transaction: string }>(
    `SELECT amount, payee, transaction FROM hub.payout WHERE id = $1 AND state = 'confirmed'`,
    [payout],
  )
  const [row] = rows
  if (!row) return undefined
  const statement = new URL(`/v1/provider/payouts/${payout}/statement.csv`, baseUrl).href
  const { amount, payee, transaction } = row
  const words = { dollars: dollars(amount), address: getAddress(payee), transaction, statement }
  return payoutSentMail(to, new URL(baseUrl).host, words)
}
