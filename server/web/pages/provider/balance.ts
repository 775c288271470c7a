import type { ProviderBalanceJson } from '../../../rest/provider/balance.ts'
import { money } from '../../format.ts'
import { type Html, html, type Part } from '../../html.ts'

type Holding = ProviderBalanceJson['data'][number]

/** What the next payout waits for, and what there is to do about it. */
const WAITS: Readonly<Record<Holding['waits_for'], (minimum: string) => Part>> = {
  run: () => 'It is sent to your wallet within a minute.',
  minimum: (minimum) => `It is sent to your wallet once it comes to ${minimum}.`,
  tomorrow: () => 'It is sent tomorrow (UTC): there is one payout a day.',
  payout: () => 'It is sent once the payout that is on its way is final.',
  address: () =>
    html`It waits for an address: <a href="/provider/payouts#address">say where it is to go</a>.`,
  address_change: () =>
    html`It waits until the new <a href="/provider/payouts#address">payout address</a> counts.`,
  pause: () => 'All payments of the hub are paused for now. It is sent when they go on.',
  suspension: () => 'An administrator has stopped your sales and your payouts.',
}

/** Where the money is: owed, on its way, paid out; and what comes next. */
export const balancePart = ({ totals, data, minimum_microdollars: least }: ProviderBalanceJson) =>
  html`<dl class="figures amounts"><div><dt>Owed to you</dt><dd>${money(
    totals.owed_microdollars,
  )}</dd></div><div><dt>On its way</dt><dd>${money(totals.under_way_microdollars)}</dd></div>
<div><dt>Paid out so far</dt><dd>${money(totals.paid_microdollars)}</dd></div></dl>${data
    .filter(({ owed_microdollars: owed }) => owed > 0)
    .map((holding) => next(holding, money(least), data.length > 1))}`

/** Something to do is told apart from something to wait for. */
const URGENT: readonly string[] = ['address', 'suspension'] satisfies Holding['waits_for'][]

function next(holding: Holding, minimum: string, several: boolean): Html {
  const { provider_id: provider, owed_microdollars: owed, waits_for: wait } = holding
  const words = html`${several && html`${money(owed)} of <code>${provider}</code>: `}${WAITS[wait](
    minimum,
  )}`
  return URGENT.includes(wait)
    ? html`<div class="box fair"><p>${words}</p></div>`
    : html`<p class="muted">${words}</p>`
}
