import { z } from 'zod'
import type { KeyJson } from '../../../rest/account/keys.ts'
import { form, type formFields } from '../../form.ts'
import { dollarsValue, optionalDollars, optionalList } from '../../form-schemas.ts'
import { type Html, html } from '../../html.ts'
import { type FormAction, formAction } from '../../page.ts'

type Fields = ReturnType<typeof formFields>

const lastDay = z
  .string()
  .regex(/^(?:\d{4}-\d\d-\d\d)?$/, 'enter a day, such as 2027-01-31')
  .default('')
  .transform((text) => (text === '' ? null : `${text}T23:59:59Z`))

/** Fields of the limits of a sub-key. */
export const LIMIT_FIELDS = {
  max_call: optionalDollars,
  max_day: optionalDollars,
  max_total: optionalDollars,
  services: optionalList,
  expires: lastDay,
} as const

/** Limits as the REST API takes them. */
export const limitsBody = (fields: z.infer<z.ZodObject<typeof LIMIT_FIELDS>>) => ({
  max_call_microdollars: fields.max_call,
  max_day_microdollars: fields.max_day,
  max_total_microdollars: fields.max_total,
  services: fields.services,
  expires_at: fields.expires,
})

/** Inputs of the limits of a sub-key. @param key whose limits are shown */
export const limitInputs = ({ text }: Fields, key?: KeyJson): readonly Html[] => {
  const dollars = (name: string, label: string, value: number | null | undefined) =>
    text({ name, label, numeric: true, size: 8, value: dollarsValue(value ?? null) })
  return [
    html`<fieldset><legend>Limits (USD)</legend><div class="row">${[
      dollars('max_call', 'Per call', key?.max_call_microdollars),
      dollars('max_day', 'Per day (UTC)', key?.max_day_microdollars),
      dollars('max_total', 'Total limit', key?.max_total_microdollars),
    ]}</div></fieldset>`,
    text({
      name: 'services',
      label: 'Services',
      hint: 'Comma-separated slugs. Leave empty to allow all services.',
      value: key?.services?.join(', ') ?? '',
    }),
    text({
      name: 'expires',
      label: 'Last day',
      type: 'date',
      hint: 'The key works until the end of this day (UTC).',
      value: key?.expires_at?.slice(0, 10) ?? '',
    }),
  ]
}

export const changeLimits: FormAction = formAction({
  fields: z.object(LIMIT_FIELDS),
  run: async ({ api, params, path }, fields) => {
    await api('PATCH /v1/keys/{id}', { params, body: limitsBody(fields) })
    return { to: `${path}?done=limited` }
  },
})

export const limitsForm = (key: KeyJson, fields: Fields): Html | false =>
  key.parent !== null &&
  html`<h2>Limits</h2><p>Effective within a second. What the key has spent counts against its
changed limits; a new limit counts from now on.</p>${form({
    act: 'limits',
    submit: 'Save limits',
    kind: 'plain',
    fields: limitInputs(fields, key),
  })}`
