import type { Pool } from 'pg'
import { z } from 'zod'
import { readUsableChallenge } from '../../../../core/identity/challenge.ts'
import type { AccountJson } from '../../../rest/account/accounts.ts'
import { nonce } from '../../../rest/account/registration.ts'
import { WALLET_SCRIPT } from '../../assets.ts'
import { form } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import {
  type AnyPage,
  type FormAction,
  formAction,
  type PageRequest,
  page,
  requireSession,
} from '../../page.ts'
import { breakableHex, cardTable, shortHash, timeAgo } from '../../table.ts'
import { signatureActions, signatureForm, walletAddressForm } from '../../wallet-signature.ts'

const PATH = '/account/wallets'

const ACTIONS: Readonly<Record<string, FormAction>> = {
  ...signatureActions(
    PATH,
    'POST /v1/account/wallets/challenge',
    'POST /v1/account/wallets',
    'linked',
  ),
  unlink: formAction({
    fields: z.object({ address: z.string() }),
    run: async ({ api }, params) => {
      await api('DELETE /v1/account/wallets/{address}', { params })
      return { to: `${PATH}?done=unlinked` }
    },
  }),
}

/** `/account/wallets`: wallets whose keys the account manages. */
export const walletsPage = ({ pool }: { readonly pool: Pool }): AnyPage =>
  page(PATH, {
    query: z.object({ nonce: nonce.optional() }),
    actions: ACTIONS,
    notices: {
      linked: 'Wallet linked. You can now manage its keys.',
      unlinked: 'Wallet unlinked. Its keys keep working but no longer appear here.',
    },
    render: async (request) => {
      const { wallets, wallet_address: own } = await request.api<AccountJson>('GET /v1/account')
      if (own !== null) return ownWalletPage(own)
      const pending = request.query.nonce
      return {
        title: 'Wallets',
        tabs: ACCOUNT_TABS,
        scripts: [WALLET_SCRIPT],
        main: html`<h1>Wallets</h1><p class="lead">Link the wallet of an agent to manage its keys,
credits and history here.</p>${
          wallets.length === 0 ? emptyState('No wallets linked.') : walletTable(wallets)
        }${pending === undefined ? linkForm(request) : await signForm(pool, request, pending)}`,
      }
    },
  })

/** Page of a wallet that signed in by itself: only an account with an address links others. */
const ownWalletPage = (wallet: string) => ({
  title: 'Wallets',
  tabs: ACCOUNT_TABS,
  main: html`<h1>Wallets</h1><p class="lead">You are signed in with this wallet:</p>
<p>${breakableHex(wallet)}</p><p>To manage several wallets in one account,
<a href="/account/sessions">sign out</a>, sign in by email and link them.</p>`,
})

const walletTable = (wallets: AccountJson['wallets']): Html =>
  cardTable(
    'Wallets',
    [
      { head: 'Wallet', cell: (each) => shortHash(each.wallet_address) },
      { head: 'Linked', noWrap: true, cell: (each) => timeAgo(each.linked_at) },
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

const linkForm = ({ submission }: PageRequest<unknown>): Html =>
  html`<h2>Link a wallet</h2><p>The wallet signs a message. This costs nothing and does not
change its keys.</p>${walletAddressForm(submission)}`

/** @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired` */
async function signForm(pool: Pool, request: PageRequest<unknown>, pending: string): Promise<Html> {
  const { message, wallet, terms } = await readUsableChallenge(pool, pending, 'link')
  const { person } = terms as { person?: string }
  if (wallet === null || person !== requireSession(request).person) return linkForm(request)
  const challenge = { wallet, message, nonce: pending, submit: 'Link wallet' }
  return html`${signatureForm(challenge, request.submission)}<p><a href="${PATH}">Use another
wallet</a></p>`
}
