import type { Pool } from 'pg'
import { z } from 'zod'
import { findChallenge } from '../../../../core/identity/challenge.ts'
import { listRoots, type Root } from '../../../../core/identity/roots.ts'
import { nonce } from '../../../rest/account/registration.ts'
import { ACCOUNT } from '../../areas.ts'
import { WALLET_SCRIPT } from '../../assets.ts'
import { someDollars } from '../../fields.ts'
import { fieldsOf, form } from '../../form.ts'
import { inDollars, money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type Act, type AnyPage, act, type PageRequest, page, personOn } from '../../page.ts'
import { signMessage } from '../../signing.ts'
import { address } from '../../table.ts'

const PATH = '/account/transfer'

const Query = z.object({ from: z.string().max(40).default(''), nonce: nonce.optional() })
type Request = PageRequest<z.infer<typeof Query>>

interface Moved {
  readonly from_key_id: string
}

const ACTS: Readonly<Record<string, Act>> = {
  ask: act({
    fields: z.object({ from_key_id: z.string(), to_key_id: z.string(), amount: someDollars }),
    run: async ({ ask }, { amount, ...keys }) => {
      const made = await ask<{ nonce: string }>('POST /v1/credits/transfers/challenge', {
        body: { ...keys, amount_microdollars: amount },
      })
      return { to: `${address(PATH, { nonce: made.nonce })}#sign` }
    },
  }),
  sign: act({
    fields: z.object({ nonce, signature: z.string().trim() }),
    run: async ({ ask }, body) => {
      const moved = await ask<Moved>('POST /v1/credits/transfers', { body })
      return { to: address(PATH, { from: moved.from_key_id, done: 'moved' }) }
    },
  }),
}

/**
 * `/account/transfer`: credits from one root of a wallet to another one, by a signature of the
 * wallet. It works without scripts; with them, the wallet of the browser signs.
 */
export const transferPage = ({ pool }: { readonly pool: Pool }): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: Query,
    acts: ACTS,
    done: {
      moved: html`The credits are moved; both keys have it in their
<a href="/account/history">history</a>.`,
    },
    show: async (request) => {
      const { nonce: asked } = request.query
      return {
        title: 'Move credits',
        area: ACCOUNT,
        tab: 'Keys',
        scripts: [WALLET_SCRIPT],
        main: html`<p class="crumbs"><a href="/account/keys">Keys</a></p><h1>Move credits</h1>
<p class="lead">From one root key of a wallet to another one of the same wallet, which signs for it.
It costs nothing.</p>${
          asked === undefined
            ? askForm(await listRoots(pool, personOn(request).principals), request)
            : await signForm(pool, request, asked)
        }`,
      }
    },
  })

/** Wallets that have keys between which credits can move. */
function askForm(all: readonly Root[], { query: { from }, sent }: Request): Html {
  const byWallet = Map.groupBy(all, ({ wallet }) => wallet)
  const roots = all.filter(({ wallet }) => wallet !== null && byWallet.get(wallet)!.length > 1)
  const sources = roots.filter(({ balance }) => balance > 0n)
  const targets = roots.filter(({ revoked, frozen }) => !revoked && !frozen)
  if (sources.length === 0 || targets.length === 0) return nothing()
  const { text, select } = fieldsOf('ask', sent)
  const source = sources.find(({ id }) => id === from) ?? sources[0]!
  const target = targets.find(({ id, wallet }) => wallet === source.wallet && id !== source.id)
  return form({
    act: 'ask',
    submit: 'Show the message to sign',
    to: PATH,
    fields: [
      select(
        { name: 'from_key_id', label: 'From', required: true, value: source.id },
        namesOf(sources, ({ balance }) => `, ${inDollars(balance)}`),
      ),
      select(
        { name: 'to_key_id', label: 'To', required: true, value: target?.id },
        namesOf(targets),
      ),
      text({
        name: 'amount',
        label: 'Amount in dollars',
        numeric: true,
        size: 12,
        required: true,
      }),
    ],
  })
}

const nothing = (): Html =>
  empty(
    'There are no two keys of one wallet with credits to move.',
    html`<p>Credits of a key that the account made stay with it: it has no wallet to sign.
<a href="/account/wallets">Link a wallet</a></p>`,
  )

/** Keys by wallet, as a list to choose from has them. */
const namesOf = (roots: readonly Root[], more: (root: Root) => string = () => '') =>
  Object.fromEntries(
    [...Map.groupBy(roots, ({ wallet }) => wallet ?? '')].map(([wallet, keys]) => [
      wallet,
      Object.fromEntries(keys.map((root) => [root.id, `${nameOf(root)}${more(root)}`])),
    ]),
  )

const nameOf = ({ id, name, revoked }: Root): string =>
  `${name ?? id}${name === null ? '' : ` (${id})`}${revoked ? ', revoked' : ''}`

/** @throws Fault `nonce_unknown` */
async function signForm(pool: Pool, request: Request, asked: string): Promise<Html> {
  const { message, wallet, terms } = await findChallenge(pool, asked, 'transfer')
  const { from, to, amount } = terms as Readonly<Record<'from' | 'to' | 'amount', string>>
  const order = { wallet: wallet ?? '', message, nonce: asked, submit: 'Move the credits' }
  return html`<p><strong>${money(Number(amount))}</strong> from <code>${from}</code> to
<code>${to}</code>.</p>${signMessage(order, request.sent)}
<p><a href="${address(PATH, { from })}">Another transfer</a></p>`
}
