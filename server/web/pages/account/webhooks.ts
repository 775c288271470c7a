import { z } from 'zod'
import type { WebhookJson, WebhookSecretJson } from '../../../rest/account/webhooks.ts'
import { ACCOUNT } from '../../areas.ts'
import { fieldsOf, form } from '../../form.ts'
import { day } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, page } from '../../page.ts'
import { cardTable } from '../../table.ts'
import { webhookFields, webhookInputs } from './webhook-forms.ts'

/** `/account/webhooks`: where the hub tells what happens, and a new place. */
export const webhooksPage = (): AnyPage =>
  page({
    path: '/account/webhooks',
    person: true,
    query: z.object({}),
    acts: {
      make: act({
        fields: webhookFields,
        run: async ({ ask }, body) => {
          const made = await ask<WebhookSecretJson>('POST /v1/webhooks', { body })
          return { to: `/account/webhooks/${made.webhook_id}?done=made`, secret: made.secret }
        },
      }),
    },
    done: { deleted: 'The webhook is deleted, with its log.' },
    show: async ({ ask, sent }) => {
      const { data } = await ask<{ data: readonly WebhookJson[] }>('GET /v1/webhooks')
      return {
        title: 'Webhooks',
        area: ACCOUNT,
        tab: 'Webhooks',
        main: html`<h1>Webhooks</h1><p class="lead">What happens to your keys and money is told to
your own server: signed, and again until it is taken.</p>${
          data.length === 0 ? empty('Nothing is told to anybody yet.') : webhookTable(data)
        }<h2>Add a webhook</h2>${form({
          act: 'make',
          submit: 'Add',
          fields: webhookInputs(fieldsOf('make', sent)),
        })}`,
      }
    },
  })

const webhookTable = (webhooks: readonly WebhookJson[]): Html =>
  cardTable(
    'Webhooks',
    [
      {
        head: 'URL',
        cell: (each) =>
          html`<a href="/account/webhooks/${each.webhook_id}">${each.url}</a> ${stateOf(each)}`,
      },
      { head: 'Hears of', cell: ({ events }) => events.join(', ') },
      { head: 'Since', whole: true, cell: ({ created_at: at }) => day(at) },
    ],
    webhooks,
  )

/** Whether it takes what it is told, where that is not so. */
export function stateOf({ disabled, failing_since: failing }: WebhookJson): Html | undefined {
  if (disabled !== null) return html`<span class="badge bad">off: ${disabled.reason}</span>`
  if (failing !== null) return html`<span class="badge fair">failing</span>`
  return undefined
}
