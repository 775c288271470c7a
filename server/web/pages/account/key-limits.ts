import type { Pool } from 'pg'
import { z } from 'zod'
import type { KeyJson } from '../../../rest/account/keys.ts'
import { form, type formFields } from '../../form.ts'
import { dollarsValue, optionalDollars, optionalList } from '../../form-schemas.ts'
import { type Html, html } from '../../html.ts'
import { type FormAction, formAction, type Submission } from '../../page.ts'

type Fields = ReturnType<typeof formFields>

const lastDay = z
  .string()
  .regex(/^(?:\d{4}-\d\d-\d\d)?$/, 'enter a day, such as 2027-01-31')
  .default('')
  .transform((text) => (text === '' ? null : `${text}T23:59:59Z`))

/** Fields of the limits of a sub-key. */
const LIMIT_FIELDS = {
  max_call: optionalDollars,
  max_day: optionalDollars,
  max_total: optionalDollars,
  services: optionalList,
  expires: lastDay,
} as const

/** Prefix of the boxes of the service picker. */
const PICK = 'service-'

/** Fields of a form with limits, besides those given. */
export const limitFields = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.looseObject({ ...shape, ...LIMIT_FIELDS })

/** Limits as the REST API takes them. */
export function limitsBody(fields: z.infer<z.ZodObject<typeof LIMIT_FIELDS, z.core.$loose>>) {
  const picked = Object.entries(fields)
    .filter(([name, value]) => name.startsWith(PICK) && value === 'on')
    .map(([name]) => name.slice(PICK.length))
  const services = [...new Set([...picked, ...(fields.services ?? [])])]
  return {
    max_call_microdollars: fields.max_call,
    max_day_microdollars: fields.max_day,
    max_total_microdollars: fields.max_total,
    services: services.length === 0 ? null : services,
    expires_at: fields.expires,
  }
}

/** Service that the picker offers. */
export interface OfferedService {
  readonly slug: string
  readonly name: string
}

const OFFERED_MAX = 24

/** Lists the services of the picker: those of the key, then the most called. */
export async function offerServices(
  pool: Pool,
  { services }: Pick<KeyJson, 'services'>,
): Promise<readonly OfferedService[]> {
  const { rows } = await pool.query<OfferedService>(
    `SELECT id AS slug, name FROM hub.search_document WHERE kind = 'native'
     ORDER BY id = ANY ($1) DESC, calls DESC, id LIMIT $2`,
    [services ?? [], OFFERED_MAX],
  )
  return rows
}

/** Services that a refused form names, by boxes and in its field. */
const namedIn = ({ values }: Submission): readonly string[] => [
  ...Object.keys(values).filter((name) => name.startsWith(PICK) && values[name] === 'on'),
  ...(values['services'] ?? '').split(',').filter((slug) => slug.trim() !== ''),
]

/** Boxes of services, and a field for slugs of others. */
function servicePicker(
  { text, check, submitted }: Fields,
  chosen: readonly string[],
  offered: readonly OfferedService[],
): Html {
  const isOffered = (slug: string) => offered.some((each) => each.slug === slug)
  const others = chosen.filter((slug) => !isOffered(slug))
  const boxes = offered.map(({ slug, name }) =>
    check({ name: `${PICK}${slug}`, label: name, checked: chosen.includes(slug) }),
  )
  const count = submitted ? namedIn(submitted).length : chosen.length
  const isOpen = count > 0 || submitted?.errors['services'] !== undefined
  return html`<details class="picker"${isOpen && html` open`}><summary>Services: ${
    count === 0 ? 'all' : `${count} chosen`
  }</summary><fieldset><legend>Allowed services</legend>
<p class="hint">Choose none to allow all.</p><div class="boxes">${boxes}</div>${text({
    name: 'services',
    label: 'Other services',
    hint: 'Comma-separated slugs.',
    value: others.join(', '),
  })}</fieldset></details>`
}

/** Inputs of the limits of a sub-key. @param key whose limits are shown */
export const limitInputs = (
  fields: Fields,
  offered: readonly OfferedService[],
  key?: KeyJson,
): readonly Html[] => {
  const dollars = (name: string, label: string, value: number | null | undefined) =>
    fields.text({ name, label, numeric: true, size: 8, value: dollarsValue(value ?? null) })
  return [
    html`<fieldset><legend>Limits (USD)</legend><div class="row">${[
      dollars('max_call', 'Per call', key?.max_call_microdollars),
      dollars('max_day', 'Per day (UTC)', key?.max_day_microdollars),
      dollars('max_total', 'Total limit', key?.max_total_microdollars),
    ]}</div></fieldset>`,
    servicePicker(fields, key?.services ?? [], offered),
    fields.text({
      name: 'expires',
      label: 'Last day',
      type: 'date',
      hint: 'The key works until the end of this day (UTC).',
      value: key?.expires_at?.slice(0, 10) ?? '',
    }),
  ]
}

export const changeLimits: FormAction = formAction({
  fields: limitFields({}),
  run: async ({ api, params, path }, fields) => {
    await api('PATCH /v1/keys/{id}', { params, body: limitsBody(fields) })
    return { to: `${path}?done=limited` }
  },
})

export const limitsForm = (
  key: KeyJson,
  fields: Fields,
  offered: readonly OfferedService[],
): Html | false =>
  key.parent !== null &&
  html`<p>Effective within a second. What the key has spent counts against its
changed limits; a new limit counts from now on.</p>${form({
    act: 'limits',
    submit: 'Save limits',
    kind: 'plain',
    fields: limitInputs(fields, offered, key),
  })}`
