import { z } from 'zod'
import type {
  StartedPayoutJson,
  WaitingPayoutJson,
  WaitingPayoutsJson,
} from '../../../rest/finance/payouts.ts'
import { rowMenu } from '../../dialog.ts'
import { form, formFields } from '../../form.ts'
import { formatDollars, formatTime } from '../../format.ts'
import { type Html, type HtmlPart, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { breakableHex, cardTable, shortHash, timeAgo, withQuery } from '../../table.ts'
import { balancePath, reason, reasonField } from './components.ts'

const PATH = '/finance/payouts'

const RULE_TEXTS: Readonly<Record<WaitingPayoutJson['rule'], string>> = {
  approval: 'amount needs an approval',
  first_payout: 'first payout to this owner',
  manual_credit: 'recent manual credit',
  provider_cap: 'maximum of the provider and day',
  platform_cap: 'maximum of the platform and day',
}

/** `/finance/payouts`: started payouts, those that wait by a rule, and approvals of large ones. */
export const financePayoutsPage = (): AnyPage =>
  page(PATH, {
    actions: {
      approve: formAction({
        fields: z.object({
          provider: z.string().max(40),
          address: z.string(),
          amount_microdollars: z.coerce.number().int(),
          reason,
        }),
        run: async ({ api }, { provider, ...body }) => {
          await api('POST /v1/finance/payouts/{provider}/approve', { params: { provider }, body })
          return { to: `${PATH}?done=approved` }
        },
      }),
      recover: formAction({
        fields: z.object({ id: z.string().max(40), address: z.string(), reason }),
        run: async ({ api }, { id, ...body }) => {
          await api('POST /v1/admin/providers/{id}/payout-address', { params: { id }, body })
          return { to: `${PATH}?done=recovered` }
        },
      }),
    },
    notices: {
      recovered:
        'Change authorized. It takes effect after the waiting period; the owner is notified.',
      approved: 'Payout approved. It is sent within a minute, if nothing else holds it.',
    },
    render: async (request) => {
      const found = await request.api<WaitingPayoutsJson>('GET /v1/finance/payouts')
      const { rules, data, started } = found
      const open = data.filter(({ rule }) => rule === 'approval')
      return {
        title: 'Payouts',
        tabs: FINANCE_TABS,
        tab: 'Payments',
        main: html`<p class="breadcrumb"><a href="/finance">Overview</a></p>
<h1>Payouts</h1><p class="lead">Payouts to providers that are due and wait. Per UTC day, a
provider is paid at most ${formatDollars(rules.provider_day_microdollars)}, all of them
together at most ${formatDollars(rules.platform_day_microdollars)}. Above
${formatDollars(rules.alone_microdollars)}, a payout needs an approval. Providers of one person,
by linked wallets or one address, count as one.</p>${
          open.length > 0 &&
          html`<div class="list">${open.map((each) => approvalCard(request, each))}</div>`
        }${
          started.length > 0 &&
          html`<h2>Pending</h2><p class="muted">Started, and not yet final on the chain. Each is
tried again until it is.</p>${startedTable(started)}`
        }<h2>Waiting</h2>${
          data.length === 0 ? emptyState('No payout waits.') : waitingTable(data)
        }${addressChanges(request, found.address_changes)}`,
      }
    },
  })

/** Email address of an owner, or wallet. */
const ownerName = ({ owner }: { readonly owner: string }): HtmlPart =>
  owner.startsWith('0x') ? shortHash(owner) : owner

const approvalId = (provider: string): string => `approve-${provider}`

function approvalCard({ submission }: PageRequest, payout: WaitingPayoutJson): Html {
  const { provider_id: provider, address, amount_microdollars: amount } = payout
  return html`<section class="card" id="${approvalId(provider)}"><h2>${formatDollars(
    amount,
  )} to ${ownerName(payout)}</h2>
<p>Provider <code>${provider}</code>, owed ${formatDollars(payout.owed_microdollars)}, to
${breakableHex(address)}.</p>${form({
    act: 'approve',
    submit: 'Approve payout',
    hidden: { provider, address, amount_microdollars: String(amount) },
    fields: [reasonField(formFields('approve', submission, { provider }))],
  })}</section>`
}

/** Requested changes of addresses; an administrator can authorize one for a lost wallet. */
const addressChanges = (
  { submission }: PageRequest,
  changes: WaitingPayoutsJson['address_changes'],
): Html | false =>
  changes.length > 0 &&
  html`<h2>Address changes without a signature</h2><p class="muted">The owner requested another
payout address, and the current wallet has not signed for it. If the wallet is lost, an
administrator can authorize the change: check by another way that the owner wants it.</p>
<div class="list">${changes.map(({ provider_id: id, ...change }) => {
    return html`<section class="card"><h3>${ownerName(change)}</h3><p>Provider
<code>${id}</code>, from ${breakableHex(change.address)}
to ${breakableHex(change.requested_address)}, requested
${formatTime(change.requested_at)}.</p>${form({
      act: 'recover',
      submit: 'Authorize change',
      kind: 'danger',
      hidden: { id, address: change.requested_address },
      fields: [reasonField(formFields('recover', submission, { id }))],
    })}</section>`
  })}</div>`

const startedTable = (payouts: readonly StartedPayoutJson[]): Html =>
  cardTable(
    'Pending payouts',
    [
      { head: 'Provider', cell: (each) => html`<code>${each.provider_id}</code>` },
      { head: 'Address', cell: ({ address }) => shortHash(address) },
      {
        head: 'Amount',
        number: true,
        cell: (each) => formatDollars(each.amount_microdollars),
      },
      { head: 'Started', noWrap: true, cell: (each) => timeAgo(each.started_at) },
      { head: 'Last attempt', noWrap: true, cell: (each) => timeAgo(each.tried_at) },
      {
        head: 'State',
        cell: ({ transaction, reason: refusal }) =>
          transaction ? html`sent: ${shortHash(transaction)}` : (refusal ?? 'not sent yet'),
      },
    ],
    payouts,
  )

const waitingTable = (payouts: readonly WaitingPayoutJson[]): Html =>
  cardTable(
    'Waiting payouts',
    [
      { head: 'Provider', cell: (each) => html`<code>${each.provider_id}</code>` },
      { head: 'Owner', cell: ownerName },
      { head: 'Address', cell: ({ address }) => shortHash(address) },
      {
        head: 'Amount',
        number: true,
        cell: (each) => formatDollars(each.amount_microdollars),
      },
      { head: 'Reason', cell: ({ rule }) => RULE_TEXTS[rule] },
      { head: 'Until', noWrap: true, cell: ({ until }) => timeAgo(until) },
      { head: 'Actions', cell: payoutMenu },
    ],
    payouts,
  )

const payoutMenu = ({ provider_id: id, rule }: WaitingPayoutJson): Html =>
  rowMenu(`menu-${id}`, `the payout to ${id}`, [
    rule === 'approval' && html`<a href="#${approvalId(id)}">Approve</a>`,
    html`<a href="${balancePath(`liabilities:providers:${id}:`)}">Balance owed</a>`,
    html`<a href="${withQuery('/admin/find', { q: id })}">Find the provider</a>`,
  ])
