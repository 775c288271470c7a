import { z } from 'zod'
import type { WaitingNameJson } from '../../../rest/admin/provider-names.ts'
import { form, formFields } from '../../form.ts'
import { formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { type FormAction, formAction, type PageRequest } from '../../page.ts'
import { withQuery } from '../../table.ts'
import { reason, reasonField } from '../finance/components.ts'

const PATH = '/admin'

/** Forms that decide on a display name. */
export const decideName = (decision: 'approve' | 'refuse'): FormAction =>
  formAction({
    fields: z.object({ id: z.string().max(40), version: z.coerce.number().int().min(1), reason }),
    run: async ({ api }, { id, version, reason: why }) => {
      const route = `POST /v1/admin/providers/{id}/${decision}-name`
      await api(route, { params: { id }, body: { version, reason: why } })
      return { to: withQuery(PATH, { only: 'pending', done: `${decision}-name` }) }
    },
  })

/** Display names that await approval, each with its forms; undefined if there are none. */
export async function waitingNames(request: PageRequest): Promise<Html | undefined> {
  const { data } = await request.api<{ data: readonly WaitingNameJson[] }>(
    'GET /v1/admin/provider-names',
  )
  if (data.length === 0) return undefined
  return html`<h2>Provider names</h2>${data.map((each) => nameCard(each, request))}`
}

const nameCard = (waiting: WaitingNameJson, request: PageRequest): Html =>
  html`<article class="box"><h3>${waiting.name}</h3><p class="facts"><span>
<code>${waiting.provider}</code></span><span>${
    waiting.before === null ? 'Has no name yet' : `Now “${waiting.before}”`
  }</span><span>Since ${formatTime(waiting.since)}</span></p><div class="columns">${[
    decisionForm('approve', waiting, request),
    decisionForm('refuse', waiting, request),
  ]}</div></article>`

function decisionForm(
  decision: 'approve' | 'refuse',
  { provider, name, version }: WaitingNameJson,
  { submission }: PageRequest,
): Html {
  const act = `${decision}-name`
  const submit = decision === 'approve' ? 'Approve name' : 'Refuse name'
  return html`<section>${form({
    act,
    submit,
    label: `${submit} ${name}`,
    ...(decision === 'refuse' && { kind: 'danger' as const }),
    to: withQuery(PATH, { only: 'pending' }),
    hidden: { id: provider, version: String(version) },
    fields: [reasonField(formFields(act, submission, { id: provider }))],
  })}</section>`
}
