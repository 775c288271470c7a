import { z } from 'zod'
import type { DecisionJson } from '../../../rest/finance/proposals.ts'
import type { SmallDepositsJson } from '../../../rest/finance/reconciliation.ts'
import { form, formFields } from '../../form.ts'
import { formatDollars, pluralize } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { successMessage } from '../../messages.ts'
import { type FormAction, formAction, type PageRequest } from '../../page.ts'
import { reason, reasonField } from './components.ts'

/** Resolves small deposits of a wallet together. */
export const smallDepositsAction: FormAction = formAction({
  fields: z.object({ wallet: z.string().max(100), reason }),
  run: async ({ api }, body) => {
    const { state, deposits } = await api<DecisionJson & { deposits: number }>(
      'POST /v1/finance/small-deposits/resolve',
      { body },
    )
    const text = pluralize(deposits, 'small deposit')
    return {
      message: successMessage(
        state === 'proposed'
          ? `Resolution of ${text} proposed: a second person must confirm it.`
          : `${text} resolved.`,
      ),
    }
  },
})

/** Forms that resolve the small deposits of each wallet. */
export const smallDepositForms = (
  { submission }: PageRequest,
  { wallets }: SmallDepositsJson,
): Html | undefined =>
  wallets.length === 0
    ? undefined
    : html`<h2>Small deposits</h2><p>Anybody can send small amounts to a wallet. Post those of at
most $1 to suspense together, up to 1,000 at once. Each can be identified later.</p>${wallets.map(
        ({ wallet, deposits, amount_microdollars: amount }) => {
          const fields = formFields('deposits', submission, { wallet })
          return html`<h3>${pluralize(deposits, 'deposit')} to ${wallet}, ${formatDollars(amount)}
in all</h3>${form({
            act: 'deposits',
            submit: 'Post to suspense',
            label: `Post to suspense: small deposits of ${wallet}`,
            hidden: { wallet },
            fields: [reasonField(fields)],
          })}`
        },
      )}`
