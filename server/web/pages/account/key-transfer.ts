import type { Pool } from 'pg'
import { z } from 'zod'
import { findChallenge } from '../../../../core/identity/challenge.ts'
import { listMainKeys, type MainKey } from '../../../../core/identity/main-keys.ts'
import { nonce } from '../../../rest/account/registration.ts'
import { WALLET_SCRIPT } from '../../assets.ts'
import { form, formFields } from '../../form.ts'
import { requiredDollars } from '../../form-schemas.ts'
import { formatDollars } from '../../format.ts'
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
import { withQuery } from '../../table.ts'
import { signatureForm } from '../../wallet-signature.ts'

const PATH = '/account/transfer'

const Query = z.object({ from: z.string().max(40).default(''), nonce: nonce.optional() })
type Request = PageRequest<z.infer<typeof Query>>

interface TransferJson {
  readonly from_key_id: string
}

const ACTIONS: Readonly<Record<string, FormAction>> = {
  ask: formAction({
    fields: z.object({ from_key_id: z.string(), to_key_id: z.string(), amount: requiredDollars }),
    run: async ({ api }, { amount, ...keys }) => {
      const made = await api<{ nonce: string }>('POST /v1/credits/transfers/challenge', {
        body: { ...keys, amount_microdollars: amount },
      })
      return { to: `${withQuery(PATH, { nonce: made.nonce })}#sign` }
    },
  }),
  sign: formAction({
    fields: z.object({ nonce, signature: z.string().trim() }),
    run: async ({ api }, body) => {
      const moved = await api<TransferJson>('POST /v1/credits/transfers', { body })
      return { to: withQuery(PATH, { from: moved.from_key_id, done: 'moved' }) }
    },
  }),
}

/** `/account/transfer`: key-to-key transfer within a wallet, authorized by its signature. */
export const transferPage = ({ pool }: { readonly pool: Pool }): AnyPage =>
  page(PATH, {
    query: Query,
    actions: ACTIONS,
    notices: {
      moved: html`Credits transferred. The transfer appears in the
<a href="/account/history">history</a> of both keys.`,
    },
    render: async (request) => {
      const { nonce: pending } = request.query
      return {
        title: 'Transfer credits',
        tabs: ACCOUNT_TABS,
        tab: 'Keys',
        scripts: [WALLET_SCRIPT],
        main: html`<p class="breadcrumb"><a href="/account/keys">Keys</a></p><h1>Transfer
credits</h1>
<p class="lead">Move credits between main keys of the same wallet. The wallet signs; there is no
fee.</p>${
          pending === undefined
            ? transferForm(await listMainKeys(pool, requireSession(request).principals), request)
            : await signForm(pool, request, pending)
        }`,
      }
    },
  })

/** Offers keys of wallets that have several keys, one of them with credits. */
function transferForm(all: readonly MainKey[], { query: { from }, submission }: Request): Html {
  const byWallet = Map.groupBy(all, ({ wallet }) => wallet)
  const roots = all.filter(({ wallet }) => wallet !== null && byWallet.get(wallet)!.length > 1)
  const sources = roots.filter(({ balance }) => balance > 0n)
  const targets = roots.filter(({ revoked, frozen }) => !revoked && !frozen)
  if (sources.length === 0 || targets.length === 0) return noTransfer()
  const { text, select } = formFields('ask', submission)
  const source = sources.find(({ id }) => id === from) ?? sources[0]!
  const target = targets.find(({ id, wallet }) => wallet === source.wallet && id !== source.id)
  return form({
    act: 'ask',
    submit: 'Continue',
    to: PATH,
    fields: [
      select(
        { name: 'from_key_id', label: 'From', required: true, value: source.id },
        keyOptions(sources, ({ balance }) => `, ${formatDollars(balance)}`),
      ),
      select(
        { name: 'to_key_id', label: 'To', required: true, value: target?.id },
        keyOptions(targets),
      ),
      text({ name: 'amount', label: 'Amount (USD)', numeric: true, size: 12, required: true }),
    ],
  })
}

const noTransfer = (): Html =>
  emptyState(
    'You need a wallet with two keys, one of them with credits.',
    html`<p>Keys created in this account have no wallet, so their credits cannot be transferred.
<a href="/account/wallets">Link a wallet</a></p>`,
  )

/** Options of a select field: keys by wallet. */
const keyOptions = (roots: readonly MainKey[], suffix: (root: MainKey) => string = () => '') =>
  Object.fromEntries(
    [...Map.groupBy(roots, ({ wallet }) => wallet ?? '')].map(([wallet, keys]) => [
      wallet,
      Object.fromEntries(keys.map((root) => [root.id, `${nameOf(root)}${suffix(root)}`])),
    ]),
  )

const nameOf = ({ id, name, revoked }: MainKey): string =>
  `${name ?? id}${name === null ? '' : ` (${id})`}${revoked ? ', revoked' : ''}`

/** @throws Fault `nonce_unknown` */
async function signForm(pool: Pool, request: Request, pending: string): Promise<Html> {
  const { message, wallet, terms } = await findChallenge(pool, pending, 'transfer')
  const { from, to, amount } = terms as Readonly<Record<'from' | 'to' | 'amount', string>>
  const challenge = { wallet: wallet ?? '', message, nonce: pending, submit: 'Transfer credits' }
  return html`<p><strong>${formatDollars(Number(amount))}</strong> from <code>${from}</code> to
<code>${to}</code>.</p>${signatureForm(challenge, request.submission)}
<p><a href="${withQuery(PATH, { from })}">Start another transfer</a></p>`
}
