import { z } from 'zod'
import type { UnusableCreditsJson } from '../../../rest/finance/breakage.ts'
import { form, formFields } from '../../form.ts'
import { formatDollars, formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { reason, reasonField } from './components.ts'

const PATH = '/finance/unusable-credits'

/** `/finance/unusable-credits`: credits of revoked and expired keys, and their breakage. */
export const unusableCreditsPage = (): AnyPage =>
  page(PATH, {
    actions: {
      breakage: formAction({
        fields: z.object({ key: z.string().max(40), reason }),
        run: async ({ api }, { key, ...body }) => {
          const route = 'POST /v1/finance/unusable-credits/{key}/breakage'
          await api(route, { params: { key }, body })
          return { to: `${PATH}?done=proposed` }
        },
      }),
    },
    notices: { proposed: 'Proposed. A second person must confirm it under Adjustments.' },
    render: async (request) => {
      const { data } = await request.api<UnusableCreditsJson>('GET /v1/finance/unusable-credits')
      return {
        title: 'Unusable credits',
        tabs: FINANCE_TABS,
        main: html`<h1>Unusable credits</h1><p class="lead">Credits of main keys that were revoked
or expired, and had no other key of their owner to move to. The owner can still move them by
revoking the key again after creating another one.</p>${
          data.length === 0
            ? emptyState('No revoked or expired key has credits.')
            : html`<div class="list">${data.map((each) => card(request, each))}</div>`
        }`,
      }
    },
  })

function card(
  { submission }: PageRequest,
  { key_id: key, owner, since, credits_microdollars: credits }: UnusableCreditsJson['data'][number],
): Html {
  return html`<section class="card"><h2>${formatDollars(credits)} of <code>${key}</code></h2>
<p>Owner: ${owner ?? 'unknown'}. Unusable since ${formatTime(since)}.</p>${form({
    act: 'breakage',
    submit: 'Post as income',
    kind: 'danger',
    hidden: { key },
    fields: [reasonField(formFields('breakage', submission, { key }))],
  })}</section>`
}
