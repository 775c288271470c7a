import { type Context, clientWithKey } from '../context.ts'
import { dollars, table } from '../terminal.ts'

interface Holding {
  readonly provider_id: string
  readonly owed_microdollars: number
  readonly paid_microdollars: number
  readonly waits_for: string
  readonly waits_until: string | null
}

const minute = (at: string): string => `${at.slice(0, 16).replace('T', ' ')} UTC`

/** Texts of the rules and conditions by which a payout waits. */
const WAIT_TEXTS: Readonly<Record<string, string>> = {
  suspension: 'suspended by an administrator',
  address: 'set a payout address',
  address_change: 'changed payout address',
  payout: 'a payout is pending',
  minimum: 'below the minimum payout',
  tomorrow: 'one payout per day',
  first_payout: 'wait before a first payout',
  manual_credit: 'wait after a correction',
  approval: 'needs an approval because of its amount',
  provider_cap: 'daily maximum',
  platform_cap: 'daily maximum of all providers',
  pause: 'payouts are paused',
  run: 'sent within a minute',
}

/** Says where a payout address is set: there is no command for it. */
const addressHint = ({ hub }: Context): string =>
  `Set a payout address at ${hub}/provider/payouts, or with PUT /v1/provider/payout-address.`

/** Prints what providers of the key are owed, and why their payouts wait and until when. */
export async function payouts(context: Context): Promise<void> {
  const { body } = await (await clientWithKey(context)).send('/v1/provider/balance')
  const { data } = body as unknown as { readonly data: readonly Holding[] }
  await context.terminal.result(body, () => {
    if (data.length === 0) return 'You have no sales yet.'
    const rows = data.map(({ waits_for: wait, waits_until: until, ...holding }) => [
      holding.provider_id,
      dollars(BigInt(holding.owed_microdollars)),
      dollars(BigInt(holding.paid_microdollars)),
      WAIT_TEXTS[wait] ?? wait,
      until === null ? '' : minute(until),
    ])
    const overview = table(['provider', 'balance', 'paid out', 'next payout', 'until'], rows)
    const lacksAddress = data.some(({ waits_for: wait }) => wait === 'address')
    return lacksAddress ? `${overview}\n\n${addressHint(context)}` : overview
  })
}
