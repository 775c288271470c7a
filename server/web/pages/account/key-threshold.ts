import { z } from 'zod'
import { LOW_BALANCE_THRESHOLD } from '../../../../core/usage/low-balance.ts'
import type { KeyJson } from '../../../rest/account/keys.ts'
import { form, type formFields } from '../../form.ts'
import { dollarsValue, optionalDollars } from '../../form-schemas.ts'
import { formatDollars } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { type FormAction, formAction } from '../../page.ts'

export const changeThreshold: FormAction = formAction({
  fields: z.object({ low_balance: optionalDollars }),
  run: async ({ api, params, path }, { low_balance: amount }) => {
    await api('PATCH /v1/keys/{id}', { params, body: { low_balance_microdollars: amount } })
    return { to: `${path}?done=threshold` }
  },
})

/** Form with the balance of a main key below which its owner is warned; null: the default. */
export const thresholdForm = (
  { parent, role }: KeyJson,
  { text }: ReturnType<typeof formFields>,
  threshold: bigint | null,
): Html | false =>
  parent === null &&
  role === 'agent' &&
  html`<p>When the credits fall below this amount, we warn you by email, if you switched that on
under <a href="/account/notifications">Notifications</a>, and by webhook.</p>${form({
    act: 'threshold',
    submit: 'Save',
    fields: [
      text({
        name: 'low_balance',
        label: 'Threshold (USD)',
        numeric: true,
        size: 10,
        value: dollarsValue(threshold === null ? null : Number(threshold)),
        hint: `Leave empty for ${formatDollars(LOW_BALANCE_THRESHOLD)}.`,
      }),
    ],
  })}`
