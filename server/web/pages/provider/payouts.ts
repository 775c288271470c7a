import type { Pool } from 'pg'
import { z } from 'zod'
import { readChallenge } from '../../../../core/identity/challenge.ts'
import { nonce } from '../../../rest/account/registration.ts'
import type { Listed } from '../../../rest/paging.ts'
import type { PayoutAddressJson } from '../../../rest/provider/address.ts'
import type { ProviderBalanceJson } from '../../../rest/provider/balance.ts'
import type { PayoutJson } from '../../../rest/provider/payouts.ts'
import { SELLING } from '../../areas.ts'
import { WALLET_SCRIPT } from '../../assets.ts'
import { form } from '../../form.ts'
import { aligned, instantText } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type Act, type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { askWallet, signMessage } from '../../signing.ts'
import { address, cardTable, facts, hex, pager, table } from '../../table.ts'
import { balancePart } from './balance.ts'

const PATH = '/provider/payouts'

const ACTS: Readonly<Record<string, Act>> = {
  ask: act({
    fields: z.object({ wallet_address: z.string().trim() }),
    run: async ({ ask }, body) => {
      const route = 'POST /v1/provider/payout-address/challenge'
      const made = await ask<{ nonce: string }>(route, { body })
      return { to: `${address(PATH, { nonce: made.nonce })}#sign` }
    },
  }),
  sign: act({
    fields: z.object({ nonce, signature: z.string().trim() }),
    run: async ({ ask }, body) => {
      await ask('PUT /v1/provider/payout-address', { body })
      return { to: `${PATH}?done=set` }
    },
  }),
  withdraw: act({
    fields: z.object({}),
    run: async ({ ask }) => {
      await ask('DELETE /v1/provider/payout-address')
      return { to: `${PATH}?done=withdrawn` }
    },
  }),
}

/** `/provider/payouts`: where earnings go, and what was paid out. */
export const payoutsPage = ({ pool }: { readonly pool: Pool }): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({ nonce: nonce.optional(), cursor: z.string().max(500).optional() }),
    acts: ACTS,
    done: {
      set: 'The wallet has signed: payouts go to it, as told below.',
      withdrawn: 'The change is taken back.',
    },
    show: async (request) => {
      const { ask, query } = request
      const { nonce: asked, cursor } = query
      const [balance, place, payouts] = await Promise.all([
        ask<ProviderBalanceJson>('GET /v1/provider/balance'),
        ask<PayoutAddressJson>('GET /v1/provider/payout-address'),
        ask<Listed<PayoutJson>>('GET /v1/provider/payouts', { query: { cursor } }),
      ])
      return {
        title: 'Payouts',
        area: SELLING,
        tab: 'Payouts',
        scripts: [WALLET_SCRIPT],
        main: html`<h1>Payouts</h1><p class="lead">What you earned is sent in USDC on Base, once a
day, to a wallet of yours.</p>${balancePart(balance)}${byService(balance)}<h2>So far</h2>${
          payouts.data.length === 0
            ? empty('Nothing was paid out yet.')
            : html`${payoutTable(payouts.data)}${pager(PATH, { cursor }, payouts.next_cursor)}`
        }${addressPart(place)}${
          asked === undefined ? askPart(place, request) : await signPart(pool, request, asked)
        }`,
      }
    },
  })

/** What is owed, by what was sold. */
const byService = ({ data }: ProviderBalanceJson): Html | undefined => {
  const owed = data.flatMap(({ services }) => services)
  return owed.length === 0
    ? undefined
    : table(
        'Owed, by service',
        [
          { head: 'Service', cell: ({ service }) => service },
          { head: 'Owed', number: true, cell: aligned(owed, (each) => each.owed_microdollars) },
        ],
        owed,
      )
}

const GRADES = { under_way: 'fair', sent: 'good', failed: 'bad' }
const WORDS = { under_way: 'under way', sent: 'sent', failed: 'failed' }

export const payoutBadge = ({ state }: PayoutJson): Html =>
  html`<span class="badge ${GRADES[state]}">${WORDS[state]}</span>`

const payoutTable = (payouts: readonly PayoutJson[]): Html =>
  cardTable(
    'Payouts',
    [
      {
        head: 'Day',
        whole: true,
        cell: ({ payout_id: id, day }) => html`<a href="${PATH}/${id}">${day}</a>`,
      },
      { head: 'State', cell: payoutBadge },
      {
        head: 'Amount',
        number: true,
        cell: aligned(payouts, (each) => each.amount_microdollars),
      },
      { head: 'To', cell: ({ address: to }) => hex(to) },
      { head: 'Transaction', cell: ({ transaction: tx }) => (tx === null ? '–' : hex(tx)) },
    ],
    payouts,
  )

const addressPart = (place: PayoutAddressJson): Html =>
  html`<h2 id="address">Where they go</h2>${
    place.address === null
      ? html`<div class="box fair"><p>There is no payout address yet: earnings are kept until there
is one.</p></div>`
      : facts({ Wallet: html`<code>${place.address}</code>`, Since: instantText(place.since) })
  }${
    place.next_address !== null &&
    html`<div class="box fair"><p>From ${instantText(place.next_at)} on they go to
<code>${place.next_address}</code>; until then nothing is paid out.</p>${form({
      act: 'withdraw',
      submit: 'Take the change back',
      kind: 'plain',
    })}</div>`
  }`

const askPart = (place: PayoutAddressJson, { sent }: PageRequest<unknown>): Html =>
  html`<h3>${place.address === null ? 'Set the wallet' : 'Another wallet'}</h3>
<p>The wallet itself signs that it takes your payouts. The first one counts at once; a change counts
after a wait, in which you can take it back.</p>${askWallet(sent)}`

/** @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired` */
async function signPart(pool: Pool, request: PageRequest<unknown>, asked: string): Promise<Html> {
  const { message, wallet } = await readChallenge(pool, asked, 'payout')
  const order = { wallet: wallet ?? '', message, nonce: asked, submit: 'Set the payout address' }
  return html`${signMessage(order, request.sent)}<p><a href="${PATH}">Another wallet</a></p>`
}
