import { z } from 'zod'
import type { KeyJson } from '../../../rest/account/keys.ts'
import { form, type formFields } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import { type FormAction, formAction } from '../../page.ts'

export const requestRate: FormAction = formAction({
  fields: z.object({
    rate: z
      .string()
      .trim()
      .regex(/^[1-9]\d{0,6}$/, 'enter a whole number'),
    purpose: z.string().trim().min(1, 'is required').max(500),
  }),
  run: async ({ api, params, path }, { rate, purpose }) => {
    const body = { key_id: params['id'], requests_per_minute: Number(rate), purpose }
    await api('POST /v1/rate-requests', { body })
    return { to: `${path}?done=requested` }
  },
})

/** Form that asks for a higher rate limit of a main key. */
export const rateForm = (
  { parent, role }: KeyJson,
  { text }: ReturnType<typeof formFields>,
): Html | false =>
  parent === null &&
  role === 'agent' &&
  html`<p>Keys with credits may send 1,000 requests per minute, others 100; the
sub-keys share it. Ask for more here. An administrator decides.</p>${form({
    act: 'rate',
    submit: 'Request rate limit',
    kind: 'plain',
    fields: [
      text({ name: 'rate', label: 'Requests per minute', numeric: true, size: 8, max: 7 }),
      text({ name: 'purpose', label: 'Purpose', max: 500, required: true }),
    ],
  })}`
