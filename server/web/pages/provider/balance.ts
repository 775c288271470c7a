import type { ProviderBalanceJson } from '../../../rest/provider/balance.ts'
import { alignedColumn, formatDollars, formatTime } from '../../format.ts'
import { type Html, type HtmlPart, html } from '../../html.ts'
import { cardTable, metrics, timeAgo } from '../../table.ts'

type Holding = ProviderBalanceJson['data'][number]

/** Status of the next payout, with what to do about it. */
const WAIT_TEXTS: Readonly<
  Record<Holding['waits_for'], (minimum: string, until: string) => HtmlPart>
> = {
  run: () => 'Your payout will be sent within a minute.',
  minimum: (minimum) =>
    `Your payout will be sent when your balance reaches ${minimum}, the minimum.`,
  tomorrow: () => 'Your next payout is tomorrow (UTC). There is one payout per day.',
  payout: () => 'Your next payout will be sent when the pending one is final.',
  address: () =>
    html`<a href="/provider/payouts#address">Set a payout address</a> to receive your earnings.`,
  address_change: () =>
    html`Your payout will be sent when the new
<a href="/provider/payouts#address">payout address</a> takes effect.`,
  first_payout: (_, until) =>
    `A first payout waits for a while, as a protection against fraud: until ${until}.`,
  manual_credit: (_, until) =>
    `A correction was added to your balance. Your payout waits until ${until}.`,
  approval: () => 'Payouts of this amount on one day need the approval of a person on our side.',
  provider_cap: (_, until) => `The maximum of a day is reached. Your next payout: ${until}.`,
  platform_cap: (_, until) =>
    `All payouts of today together have reached their maximum. Your payout waits until ${until}.`,
  pause: () => 'All payouts are paused. Yours will be sent when they resume.',
  suspension: () => 'An administrator suspended your sales and payouts. Contact support.',
}

/** Earnings of a provider: balance, pending, paid out, and the status of the next payout. */
export const balancePart = ({ totals, data, minimum_microdollars: minimum }: ProviderBalanceJson) =>
  html`${metrics(
    {
      Balance: formatDollars(totals.owed_microdollars),
      Pending: formatDollars(totals.under_way_microdollars),
      'Paid out': formatDollars(totals.paid_microdollars),
      ...(totals.debt_microdollars > 0 && { 'You owe': formatDollars(totals.debt_microdollars) }),
    },
    'amounts',
  )}${data
    .filter(({ owed_microdollars: owed }) => owed > 0)
    .map((holding) => nextPayout(holding, formatDollars(minimum), data.length > 1))}${
    totals.debt_microdollars > 0 && debtTable(data.flatMap(({ debts }) => debts))
  }`

/** Refunds that the provider owes, because it had been paid for the calls. */
const debtTable = (debts: Holding['debts']): Html =>
  html`<h2 id="owed">You owe</h2><p>Your share of refunds of calls that you had been paid for.
Your next earnings make up for it, the oldest first.</p>${cardTable(
    'You owe',
    [
      { head: 'Refunded', noWrap: true, cell: ({ at }) => timeAgo(at) },
      { head: 'Entry', cell: ({ entry_id: id }) => html`<code class="soft-breaks">${id}</code>` },
      {
        head: 'Amount',
        number: true,
        cell: alignedColumn(debts, ({ amount_microdollars: amount }) => amount),
      },
      {
        head: 'Still owed',
        number: true,
        cell: alignedColumn(debts, ({ open_microdollars: open }) => open),
      },
    ],
    debts,
  )}`

/** States that need action by the provider. */
const ACTION_NEEDED: readonly string[] = ['address', 'suspension'] satisfies Holding['waits_for'][]

function nextPayout(holding: Holding, minimum: string, isOneOfMany: boolean): Html {
  const { provider_id: provider, owed_microdollars: owed, waits_for: wait } = holding
  const until = formatTime(holding.waits_until)
  const text = html`${
    isOneOfMany &&
    html`${formatDollars(owed)} of <code>${provider}</code>:
`
  }${WAIT_TEXTS[wait](minimum, until)}`
  return ACTION_NEEDED.includes(wait)
    ? html`<div class="box fair"><p>${text}</p></div>`
    : html`<p class="muted">${text}</p>`
}

/** Balance of one API, and when it is paid out; undefined without one. */
export function servicePayout(
  { data, minimum_microdollars: minimum }: ProviderBalanceJson,
  slug: string,
): Html | undefined {
  for (const { services, waits_for: wait, waits_until: until } of data) {
    const part = services.find(({ service }) => service === slug)
    if (part === undefined || part.owed_microdollars <= 0) continue
    return html`<h3>Next payout</h3><p><strong>${formatDollars(part.owed_microdollars)}</strong> of
this API is in your <a href="/provider/payouts">balance</a>. ${WAIT_TEXTS[wait](
      formatDollars(minimum),
      formatTime(until),
    )}</p>`
  }
  return undefined
}
