import { z } from 'zod'
import { EVENTS, type EventType } from '../../../../core/webhooks/events.ts'
import type { WebhookJson, WebhookSecretJson } from '../../../rest/account/webhooks.ts'
import { dialogPath, rowMenu } from '../../dialog.ts'
import { form, formFields } from '../../form.ts'
import { checkbox } from '../../form-schemas.ts'
import { dayOf } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, page } from '../../page.ts'
import { cardTable } from '../../table.ts'

const TYPES = Object.keys(EVENTS) as EventType[]
const checkboxOf = (type: EventType): string => `on:${type}`

/** URL and event types; each type is a checkbox of its own. */
export const webhookFields = z
  .object({ url: z.string().trim() })
  .extend(Object.fromEntries(TYPES.map((type) => [checkboxOf(type), checkbox])))
  .transform(({ url, ...ticks }) => ({
    url,
    events: TYPES.filter((type) => (ticks as Readonly<Record<string, boolean>>)[checkboxOf(type)]),
  }))
  .refine(({ events }) => events.length > 0, {
    error: 'select at least one event',
    path: [checkboxOf(TYPES[0]!)],
  })

/** Form fields of a new webhook, or of an existing one. */
export const webhookInputs = (
  { text, check }: ReturnType<typeof formFields>,
  webhook?: WebhookJson,
): readonly Html[] => [
  text({
    name: 'url',
    label: 'URL',
    type: 'url',
    required: true,
    max: 2_048,
    value: webhook?.url ?? '',
    placeholder: 'https://example.com/hub-events',
    hint: html`We send POST requests to this URL:
<a href="/docs/webhooks">payloads and signature check</a>.`,
  }),
  html`<fieldset><legend>Events</legend>${TYPES.map((type) =>
    check({
      name: checkboxOf(type),
      label: type,
      hint: EVENTS[type],
      checked: webhook?.events.includes(type) ?? false,
    }),
  )}</fieldset>`,
]

/** `/account/webhooks`: all webhooks, and the form that adds one. */
export const webhooksPage = (): AnyPage =>
  page('/account/webhooks', {
    actions: {
      make: formAction({
        fields: webhookFields,
        run: async ({ api }, body) => {
          const created = await api<WebhookSecretJson>('POST /v1/webhooks', { body })
          return { to: `/account/webhooks/${created.webhook_id}?done=made`, secret: created.secret }
        },
      }),
    },
    notices: { deleted: 'Webhook and its log deleted.' },
    render: async ({ api, submission }) => {
      const { data } = await api<{ data: readonly WebhookJson[] }>('GET /v1/webhooks')
      return {
        title: 'Webhooks',
        tabs: ACCOUNT_TABS,
        main: html`<h1>Webhooks</h1><p class="lead">We send signed events to your server and retry
until it confirms receipt.</p>${
          data.length === 0 ? emptyState('No webhooks yet.') : webhookTable(data)
        }<h2>Add a webhook</h2>${form({
          act: 'make',
          submit: 'Add webhook',
          fields: webhookInputs(formFields('make', submission)),
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
      { head: 'Events', cell: ({ events }) => events.join(', ') },
      { head: 'Added', noWrap: true, cell: ({ created_at: at }) => dayOf(at) },
      { head: 'Actions', cell: webhookMenu },
    ],
    webhooks,
  )

function webhookMenu({ webhook_id: id, url }: WebhookJson): Html {
  const path = `/account/webhooks/${id}`
  return rowMenu(`menu-${id}`, url, [
    html`<a href="${path}">Deliveries</a>`,
    html`<a href="${dialogPath(path, 'change')}">URL and events</a>`,
    html`<a href="${dialogPath(path, 'delete')}">Delete</a>`,
  ])
}

export function stateOf({ disabled, failing_since: failing }: WebhookJson): Html | undefined {
  if (disabled !== null) return html`<span class="badge bad">disabled: ${disabled.reason}</span>`
  if (failing !== null) return html`<span class="badge fair">failing</span>`
  return undefined
}
