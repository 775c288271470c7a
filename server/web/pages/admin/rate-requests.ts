import { z } from 'zod'
import type { RateRequestJson } from '../../../rest/account/rate-requests.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { form, formFields } from '../../form.ts'
import { formatCount, formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { type FormAction, formAction, type PageRequest } from '../../page.ts'
import { definitionList } from '../../table.ts'
import { reason, reasonField } from '../finance/components.ts'

/** Requests per minute; null if empty. */
export const optionalRate = z
  .string()
  .trim()
  .regex(/^(?:[1-9]\d{0,6})?$/, 'enter a whole number or leave empty')
  .transform((text) => (text === '' ? null : Number(text)))

export const decideRequest: FormAction = formAction({
  fields: z.object({ request: z.string().max(40), rate: optionalRate, reason }),
  run: async ({ api, path }, { request, rate, reason: why }) => {
    await api('POST /v1/admin/rate-requests/{id}', {
      params: { id: request },
      body: { requests_per_minute: rate, reason: why },
    })
    return { to: `${path}?done=decided` }
  },
})

/** Pending requests for higher rate limits, each with a form that decides it. */
export async function pendingRequests({ api, submission }: PageRequest): Promise<Html | false> {
  const { data } = await api<ListPage<RateRequestJson>>('GET /v1/admin/rate-requests')
  return (
    data.length > 0 &&
    html`<h2>Requested rate limits</h2>${data.map((request) => {
      const hidden = { request: request.id }
      const fields = formFields('decide', submission, hidden)
      return html`<section>${definitionList({
        Key: html`<code>${request.key_id}</code>`,
        Requested: `${formatCount(request.requests_per_minute)} per minute`,
        Purpose: request.purpose,
        Since: formatTime(request.created_at),
      })}${form({
        act: 'decide',
        submit: 'Decide',
        hidden,
        fields: [
          fields.text({
            name: 'rate',
            label: 'Requests per minute',
            value: String(request.requests_per_minute),
            hint: 'Leave empty to refuse.',
            numeric: true,
            max: 7,
            size: 10,
          }),
          reasonField(fields),
        ],
      })}</section>`
    })}`
  )
}
