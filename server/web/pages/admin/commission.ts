import { z } from 'zod'
import type { CommissionRuleJson } from '../../../rest/admin/providers.ts'
import type { AdminServiceJson } from '../../../rest/admin/services.ts'
import { form, formFields } from '../../form.ts'
import { optionalDay } from '../../form-schemas.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { type FormAction, formAction, type PageRequest } from '../../page.ts'
import { cardTable, timeAgo, withQuery } from '../../table.ts'
import { reason, reasonField } from '../finance/components.ts'

const SCOPES = { service: 'This service', provider: 'All services of the provider' }

/** Basis points as percent: `1000` → `10 %`. */
export const formatRate = (bps: number | null): string => (bps === null ? '–' : `${bps / 100} %`)

/** Percent with up to two decimals, as basis points; null if empty. */
const percentage = z
  .string()
  .trim()
  .regex(/^(?:(?:100|\d{1,2}(?:\.\d{1,2})?) ?%?)?$/, 'enter a percentage, such as 7.5')
  .transform((text) => {
    const [whole = '', fraction = ''] = text.replace(/ ?%$/, '').split('.')
    return whole === '' ? null : Number(whole) * 100 + Number(fraction.padEnd(2, '0'))
  })

/** Action that sets a commission. @param path page of its form */
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
  return form({
    act: 'commission',
    submit: 'Set commission',
    to: withQuery(path, { slug }),
    hidden: { slug, id: provider },
    fields: [
      fields.text({
        name: 'percent',
        label: 'Percent of each sale',
        hint: 'Leave empty to remove the custom rate.',
        numeric: true,
        size: 6,
        max: 7,
      }),
      fields.select({ name: 'scope', label: 'Applies to', required: true }, SCOPES),
      fields.text({
        name: 'from',
        label: 'From',
        type: 'date',
        hint: 'First day, from 00:00 UTC. Leave empty to start now.',
      }),
      reasonField(fields),
    ],
  })
}

/** All commission rules of the provider of a service. */
export async function commissionHistory(
  { api }: PageRequest,
  { provider, owner }: AdminServiceJson,
): Promise<Html> {
  const { data } = await api<{ data: readonly CommissionRuleJson[] }>(
    'GET /v1/admin/providers/{id}/commission',
    { params: { id: provider } },
  )
  return html`<h2>Commission of ${owner ?? provider}</h2>${
    data.length === 0
      ? emptyState('No custom rate. The platform default applies.')
      : cardTable(
          'Commission',
          [
            { head: 'From', noWrap: true, cell: (each) => timeAgo(each.effective_from) },
            { head: 'Applies to', cell: ({ service }) => service ?? 'all services' },
            { head: 'Commission', number: true, cell: ({ bps }) => formatRate(bps) },
            { head: 'Author', cell: ({ author }) => author },
            { head: 'Reason', cell: (each) => each.reason },
          ],
          data,
        )
  }`
}
