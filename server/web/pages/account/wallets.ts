import type { Pool } from 'pg'
import { z } from 'zod'
import { readChallenge } from '../../../../core/identity/challenge.ts'
import type { AccountJson } from '../../../rest/account/index.ts'
import { nonce } from '../../../rest/account/registration.ts'
import { ACCOUNT } from '../../areas.ts'
import { WALLET_SCRIPT } from '../../assets.ts'
import { form } from '../../form.ts'
import { instantText } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type Act, type AnyPage, act, type PageRequest, page, personOn } from '../../page.ts'
import { askWallet, signMessage } from '../../signing.ts'
import { address, cardTable } from '../../table.ts'

const PATH = '/account/wallets'

const ACTS: Readonly<Record<string, Act>> = {
  ask: act({
    fields: z.object({ wallet_address: z.string().trim() }),
    run: async ({ ask }, body) => {
      const made = await ask<{ nonce: string }>('POST /v1/account/wallets/challenge', { body })
      return { to: `${address(PATH, { nonce: made.nonce })}#sign` }
    },
  }),
  sign: act({
    fields: z.object({ nonce, signature: z.string().trim() }),
    run: async ({ ask }, body) => {
      await ask('POST /v1/account/wallets', { body })
      return { to: `${PATH}?done=linked` }
    },
  }),
  unlink: act({
    fields: z.object({ address: z.string() }),
    run: async ({ ask }, params) => {
      await ask('DELETE /v1/account/wallets/{address}', { params })
      return { to: `${PATH}?done=unlinked` }
    },
  }),
}

/**
 * `/account/wallets`: the wallets whose keys the account manages. Linking takes two steps that work
 * without scripts; with them, the wallet of the browser fills in both.
 */
export const walletsPage = ({ pool }: { readonly pool: Pool }): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({ nonce: nonce.optional() }),
    acts: ACTS,
    done: {
      linked: 'The wallet is linked: its keys are among yours.',
      unlinked: 'The wallet is unlinked: its keys work on, and are not seen here any more.',
    },
    show: async (request) => {
      const { wallets } = await request.ask<AccountJson>('GET /v1/account')
      const asked = request.query.nonce
      return {
        title: 'Wallets',
        area: ACCOUNT,
        tab: 'Wallets',
        scripts: [WALLET_SCRIPT],
        main: html`<h1>Wallets</h1><p class="lead">An agent registers with a wallet. Linked here,
its keys, their credits and their history are among yours.</p>${
          wallets.length === 0 ? empty('No wallet is linked.') : walletTable(wallets)
        }${asked === undefined ? askForm(request) : await signForm(pool, request, asked)}`,
      }
    },
  })

const walletTable = (wallets: AccountJson['wallets']): Html =>
  cardTable(
    'Wallets',
    [
      { head: 'Wallet', cell: (each) => html`<code>${each.wallet_address}</code>` },
      { head: 'Linked', whole: true, cell: (each) => instantText(each.linked_at) },
      {
        head: 'Action',
        cell: ({ wallet_address: wallet }) =>
          form({
            act: 'unlink',
            submit: 'Unlink',
            hidden: { address: wallet },
            kind: 'plain',
            label: `Unlink ${wallet}`,
          }),
      },
    ],
    wallets,
  )

const askForm = ({ sent }: PageRequest<unknown>): Html =>
  html`<h2>Link a wallet</h2><p>It signs a message; nothing is paid, and no key
changes.</p>${askWallet(sent)}`

/** @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired` */
async function signForm(pool: Pool, request: PageRequest<unknown>, asked: string): Promise<Html> {
  const { message, wallet, terms } = await readChallenge(pool, asked, 'link')
  const { person } = terms as { person?: string }
  if (wallet === null || person !== personOn(request).person) return askForm(request)
  const order = { wallet, message, nonce: asked, submit: 'Link the wallet' }
  return html`${signMessage(order, request.sent)}<p><a href="${PATH}">Another wallet</a></p>`
}
