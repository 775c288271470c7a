import type { Pool } from 'pg'
import { z } from 'zod'
import { type Clock, monthName, monthStart } from '../../../../core/clock.ts'
import { readUsableChallenge } from '../../../../core/identity/challenge.ts'
import { readPayoutMonths } from '../../../../core/payments/payouts/list.ts'
import { nonce } from '../../../rest/account/registration.ts'
import type { ListPage } from '../../../rest/paging.ts'
import type { ProviderBalanceJson } from '../../../rest/provider/balance.ts'
import type { PayoutAddressJson } from '../../../rest/provider/payout-address.ts'
import type { PayoutJson } from '../../../rest/provider/payouts.ts'
import { WALLET_SCRIPT } from '../../assets.ts'
import { DOCUMENTS_PATH } from '../../documents-table.ts'
import { form, formFields } from '../../form.ts'
import { monthField } from '../../form-schemas.ts'
import { alignedColumn, formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { SELLING_TABS } from '../../navigation.ts'
import {
  type AnyPage,
  type FormAction,
  formAction,
  type PageRequest,
  page,
  requireSession,
} from '../../page.ts'
import {
  breakableHex,
  cardTable,
  definitionList,
  pager,
  shortHash,
  table,
  withQuery,
} from '../../table.ts'
import { signatureActions, signatureForm, walletAddressForm } from '../../wallet-signature.ts'
import { balancePart } from './balance.ts'
import { firstMonth, payoutChart } from './payout-chart.ts'

const PATH = '/provider/payouts'

const ACTIONS: Readonly<Record<string, FormAction>> = {
  ...signatureActions(
    PATH,
    'POST /v1/provider/payout-address/challenge',
    'PUT /v1/provider/payout-address',
    'set',
  ),
  authorize: formAction({
    run: async ({ api }) => {
      const challenge = await api<{ nonce: string }>(
        'POST /v1/provider/payout-address/authorization/challenge',
      )
      return { to: `${withQuery(PATH, { change: challenge.nonce })}#sign` }
    },
  }),
  change: formAction({
    fields: z.object({ nonce, signature: z.string().trim() }),
    run: async ({ api }, body) => {
      await api('POST /v1/provider/payout-address/authorization', { body })
      return { to: `${PATH}?done=authorized` }
    },
  }),
  earnings: formAction({
    fields: z.object({ month: monthField }),
    run: async ({ api }, { month }) => {
      await api('POST /v1/documents', { body: { kind: 'earnings', month } })
      return { to: `${DOCUMENTS_PATH}?done=issued` }
    },
  }),
  withdraw: formAction({
    run: async ({ api }) => {
      await api('DELETE /v1/provider/payout-address')
      return { to: `${PATH}?done=withdrawn` }
    },
  }),
}

interface PayoutsPageDeps {
  readonly pool: Pool
  readonly clock: Clock
}

/** `/provider/payouts`: earnings, payouts and the payout address. */
export const payoutsPage = ({ pool, clock }: PayoutsPageDeps): AnyPage =>
  page(PATH, {
    query: z.object({
      nonce: nonce.optional(),
      change: nonce.optional(),
      cursor: z.string().max(500).optional(),
    }),
    actions: ACTIONS,
    notices: {
      set: 'Payout address saved. See below if a change needs another signature.',
      authorized: 'Address change authorized. See below when it takes effect.',
      withdrawn: 'Address change canceled.',
    },
    render: async (request) => {
      const { api, query } = request
      const { nonce: pending, change, cursor } = query
      const { principals } = requireSession(request)
      const now = clock.now()
      const [balance, place, payouts, paid] = await Promise.all([
        api<ProviderBalanceJson>('GET /v1/provider/balance'),
        api<PayoutAddressJson>('GET /v1/provider/payout-address'),
        api<ListPage<PayoutJson>>('GET /v1/provider/payouts', { query: { cursor } }),
        readPayoutMonths(pool, principals, firstMonth(now)),
      ])
      return {
        title: 'Payouts',
        tabs: SELLING_TABS,
        scripts: [WALLET_SCRIPT],
        main: html`<h1>Payouts</h1><p class="lead">Earnings are paid out once a day in USDC on Base
to your wallet.</p>${balancePart(balance)}${byService(balance)}
<h2>Payout history</h2>${
          payouts.data.length === 0
            ? emptyState('No payouts yet.')
            : html`${payoutChart(now, paid)}${payoutTable(payouts.data)}${pager(
                PATH,
                { cursor },
                payouts.next_cursor,
              )}`
        }${earningsForm(request, monthName(monthStart(now, -1)))}${addressPart(place)}${
          pending !== undefined
            ? await signPart(pool, request, pending, 'payout')
            : change !== undefined
              ? await signPart(pool, request, change, 'payout-change')
              : walletPart(place, request)
        }`,
      }
    },
  })

/** Balance by service. */
const byService = ({ data }: ProviderBalanceJson): Html | undefined => {
  const owed = data.flatMap(({ services }) => services)
  return owed.length === 0
    ? undefined
    : table(
        'Balance by service',
        [
          { head: 'Service', cell: ({ service }) => service },
          {
            head: 'Balance',
            number: true,
            cell: alignedColumn(owed, (each) => each.owed_microdollars),
          },
        ],
        owed,
      )
}

const BADGES = { under_way: 'fair', sent: 'good', failed: 'bad' }
const STATE_TEXTS = { under_way: 'pending', sent: 'sent', failed: 'failed' }

export const payoutBadge = ({ state }: PayoutJson): Html =>
  html`<span class="badge ${BADGES[state]}">${STATE_TEXTS[state]}</span>`

const payoutTable = (payouts: readonly PayoutJson[]): Html =>
  cardTable(
    'Payouts',
    [
      {
        head: 'Day',
        noWrap: true,
        cell: ({ payout_id: id, day }) => html`<a href="${PATH}/${id}">${day}</a>`,
      },
      { head: 'State', cell: payoutBadge },
      {
        head: 'Amount',
        number: true,
        cell: alignedColumn(payouts, (each) => each.amount_microdollars),
      },
      { head: 'To', cell: ({ address: to }) => breakableHex(to) },
      {
        head: 'Transaction',
        cell: ({ transaction: tx }) => (tx === null ? '–' : shortHash(tx)),
      },
    ],
    payouts,
  )

function earningsForm({ submission }: PageRequest<unknown>, month: string): Html {
  const fields = formFields('earnings', submission)
  return html`<h2>Statement of a month</h2><p>Sales, commission and refunds before netting, payouts
and balances. You find it under <a href="${DOCUMENTS_PATH}">Documents</a>.</p>${form({
    act: 'earnings',
    submit: 'Issue statement',
    fields: [
      fields.text({ name: 'month', label: 'Month (UTC)', value: month, size: 8, required: true }),
    ],
  })}`
}

const addressPart = (place: PayoutAddressJson): Html =>
  html`<h2 id="address">Payout address</h2>${
    place.address === null
      ? html`<div class="box fair"><p>No payout address yet. Your earnings stay in your balance
until you set one.</p></div>`
      : definitionList({
          Wallet: html`<code>${place.address}</code>`,
          Since: formatTime(place.since),
        })
  }${
    place.requested_address !== null &&
    html`<div class="box fair"><p>A change to <code>${place.requested_address}</code> was requested.
Authorize it with your current wallet. If you have lost it, ask an administrator to recover your
address.</p>${form({ act: 'authorize', submit: 'Authorize change' })}${form({
      act: 'withdraw',
      submit: 'Cancel change',
      kind: 'plain',
    })}</div>`
  }${
    place.next_address !== null &&
    html`<div class="box fair"><p>From ${formatTime(place.next_at)}, payouts go to
<code>${place.next_address}</code>. Until then they are on hold.</p>${form({
      act: 'withdraw',
      submit: 'Cancel change',
      kind: 'plain',
    })}</div>`
  }`

const walletPart = (place: PayoutAddressJson, { submission }: PageRequest<unknown>): Html =>
  html`<h3>${place.address === null ? 'Set address' : 'Change address'}</h3>
<p>Sign with the wallet to confirm it. Your first address is active immediately. Changes also need a
signature of your current wallet; they take effect after a waiting period and can be canceled.
</p>${walletAddressForm(submission)}`

/** @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired` */
async function signPart(
  pool: Pool,
  request: PageRequest<unknown>,
  pending: string,
  purpose: 'payout' | 'payout-change',
): Promise<Html> {
  const { message, wallet } = await readUsableChallenge(pool, pending, purpose)
  const form =
    purpose === 'payout'
      ? { act: 'sign', submit: 'Set payout address' }
      : { act: 'change', submit: 'Authorize change' }
  const challenge = { wallet: wallet ?? '', message, nonce: pending, ...form }
  return html`${signatureForm(challenge, request.submission)}<p><a href="${PATH}">Use another
wallet</a></p>`
}
