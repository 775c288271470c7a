import { z } from 'zod'
import type { CommissionRuleJson } from '../../../rest/admin/commission.ts'
import type { AdminServiceJson } from '../../../rest/admin/services.ts'
import { form, formFields } from '../../form.ts'
import { formatTimestamp } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { type FormAction, formAction, type PageRequest } from '../../page.ts'
import { cardTable, withQuery } from '../../table.ts'
import { optionalDay, reason, reasonField } from '../finance/components.ts'

const SCOPES = { service: 'this service', provider: 'all of its provider’s services' }

/** `1000` basis points are `10 %`. */
export const rate = (bps: number | null): string => (bps === null ? '–' : `${bps / 100} %`)

/** Per cent with at most two decimals, as basis points; null for none. */
const percentage = z
  .string()
  .trim()
  .regex(/^(?:(?:100|\d{1,2}(?:\.\d{1,2})?) ?%?)?$/, 'per cent, such as 7.5')
  .transform((text) => {
    const [whole = '', fraction = ''] = text.replace(/ ?%$/, '').split('.')
    return whole === '' ? null : Number(whole) * 100 + Number(fraction.padEnd(2, '0'))
  })

/** What the form of the commission does. @param path of its page */
export const setCommission = (path: string): FormAction =>
  formAction({
    fields: z.object({
      slug: z.string().max(40),
      id: z.string().max(40),
      scope: z.enum(['service', 'provider']),
      percent: percentage,
      from: optionalDay,
      reason,
    }),
    run: async ({ api }, { slug, id, scope, percent, from, reason: why }) => {
      await api('POST /v1/admin/providers/{id}/commission', {
        params: { id },
        body: {
          service: scope === 'service' ? slug : null,
          bps: percent,
          reason: why,
          ...(from !== undefined && { effective_from: `${from}T00:00:00Z` }),
        },
      })
      return { to: withQuery(path, { slug, done: 'commission' }) }
    },
  })

export function commissionForm(
  { submission, path }: PageRequest,
  { slug, provider }: AdminServiceJson,
): Html {
  const fields = formFields('commission', submission)
  return html`<section><h3>Set the commission</h3>${form({
    act: 'commission',
    submit: 'Set it',
    to: withQuery(path, { slug }),
    hidden: { slug, id: provider },
    fields: [
      fields.text({
        name: 'percent',
        label: 'Per cent of each sale',
        hint: 'Left empty: no rule of its own, so that the one above it counts.',
        numeric: true,
        size: 6,
        max: 7,
      }),
      fields.select({ name: 'scope', label: 'Of', required: true }, SCOPES),
      fields.text({
        name: 'from',
        label: 'From',
        type: 'date',
        hint: 'From 0:00 UTC on. Left out: from now on.',
      }),
      reasonField(fields),
    ],
  })}</section>`
}

/** What was agreed on with the provider of a service so far. */
export async function commissionOf(
  { api }: PageRequest,
  { provider, owner }: AdminServiceJson,
): Promise<Html> {
  const { data } = await api<{ data: readonly CommissionRuleJson[] }>(
    'GET /v1/admin/providers/{id}/commission',
    { params: { id: provider } },
  )
  return html`<h2>Commission agreed on with ${owner ?? provider}</h2>${
    data.length === 0
      ? emptyState('Nothing of its own: the default of the platform counts.')
      : cardTable(
          'Commission',
          [
            { head: 'From', noWrap: true, cell: (each) => formatTimestamp(each.effective_from) },
            { head: 'Of', cell: ({ service }) => service ?? 'all its services' },
            { head: 'Commission', number: true, cell: ({ bps }) => rate(bps) },
            { head: 'By', cell: ({ author }) => author },
            { head: 'Reason', cell: (each) => each.reason },
          ],
          data,
        )
  }`
}
