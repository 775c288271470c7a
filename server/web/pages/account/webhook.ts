import { z } from 'zod'
import { Fault } from '../../../../core/errors.ts'
import type { DeliveryJson } from '../../../rest/account/webhook-deliveries.ts'
import type { WebhookJson, WebhookSecretJson } from '../../../rest/account/webhooks.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { dialogs } from '../../dialog.ts'
import { form, formFields } from '../../form.ts'
import { confirmedCheckbox } from '../../form-schemas.ts'
import { formatDuration, formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, type FormAction, formAction, type PageRequest, page } from '../../page.ts'
import { cardTable, definitionList, pager, timeAgo } from '../../table.ts'
import { stateOf, webhookFields, webhookInputs } from './webhooks.ts'

/** Action without fields that calls one route. */
const routeAction = (route: string, done: string, body: unknown = {}): FormAction =>
  formAction({
    run: async ({ api, params, path }) => {
      await api(route, { params, body })
      return { to: `${path}?done=${done}` }
    },
  })

const ACTIONS: Readonly<Record<string, FormAction>> = {
  test: routeAction('POST /v1/webhooks/{id}/test', 'tested'),
  enable: routeAction('PATCH /v1/webhooks/{id}', 'enabled', { enabled: true }),
  change: formAction({
    fields: webhookFields,
    run: async ({ api, params, path }, body) => {
      await api('PATCH /v1/webhooks/{id}', { params, body })
      return { to: `${path}?done=changed` }
    },
  }),
  rotate: formAction({
    run: async ({ api, params, path }) => {
      const { secret } = await api<WebhookSecretJson>('POST /v1/webhooks/{id}/rotate', { params })
      return { to: `${path}?done=rotated`, secret }
    },
  }),
  delete: formAction({
    fields: z.object({ sure: confirmedCheckbox }),
    run: async ({ api, params }) => {
      await api('DELETE /v1/webhooks/{id}', { params })
      return { to: '/account/webhooks?done=deleted' }
    },
  }),
}

/** `/account/webhooks/{id}`: one webhook and its delivery log. */
export const webhookPage = (): AnyPage =>
  page('/account/webhooks/{id}', {
    query: z.object({
      cursor: z.string().max(500).optional(),
      /** Dialog that is open. */
      edit: z.string().max(20).optional(),
    }),
    actions: ACTIONS,
    notices: {
      made: 'Webhook added. Use its secret to verify the signature of each event.',
      tested: 'Test event queued. Reload in a moment to see the result below.',
      enabled: 'Webhook enabled. New events are sent from now on.',
      changed: 'Webhook saved.',
      rotated: 'Secret rotated. For one day, events are signed with the old secret, too.',
    },
    render: async (request) => {
      const { params, path } = request
      const { cursor } = request.query
      const [{ data: all }, log] = await Promise.all([
        request.api<{ data: readonly WebhookJson[] }>('GET /v1/webhooks'),
        request.api<ListPage<DeliveryJson>>('GET /v1/webhooks/{id}/deliveries', {
          params,
          query: { limit: '20', cursor },
        }),
      ])
      const webhook = all.find(({ webhook_id: id }) => id === params['id'])
      if (!webhook) throw new Fault('not_found', 'No webhook of yours has this id.')
      return {
        title: 'Webhook',
        tabs: ACCOUNT_TABS,
        tab: 'Webhooks',
        main: html`<p class="breadcrumb"><a href="/account/webhooks">Webhooks</a></p>
<h1>Webhook ${stateOf(webhook)}</h1>${about(webhook)}${buttons(webhook)}${editing(
          webhook,
          request,
        )}<h2>Deliveries</h2>${
          log.data.length === 0
            ? emptyState('No events sent yet.')
            : html`${logTable(log.data)}${pager(path, { cursor }, log.next_cursor)}`
        }`,
      }
    },
  })

const about = (webhook: WebhookJson): Html =>
  definitionList({
    URL: html`<code>${webhook.url}</code>`,
    Events: webhook.events.join(', '),
    Added: formatTime(webhook.created_at),
    'Failing since': webhook.failing_since && formatTime(webhook.failing_since),
    'Old secret until': webhook.previous_secret_until && formatTime(webhook.previous_secret_until),
    Disabled:
      webhook.disabled &&
      `since ${formatTime(webhook.disabled.at)}: ${REASONS[webhook.disabled.reason]}`,
  })

const REASONS = {
  gone: 'the server responded 410 Gone',
  failing: 'no event was accepted for three days',
}

const buttons = ({ disabled }: WebhookJson): Html =>
  html`<div class="actions">${
    disabled === null
      ? form({ act: 'test', submit: 'Send test event' })
      : form({ act: 'enable', submit: 'Enable' })
  }${form({ act: 'rotate', submit: 'Rotate secret', kind: 'plain' })}</div>`

const STATE_CLASSES = { pending: '', delivered: 'good', failed: 'bad' }

const logTable = (log: readonly DeliveryJson[]): Html =>
  cardTable(
    'Deliveries',
    [
      { head: 'Time', noWrap: true, cell: ({ at }) => timeAgo(at) },
      { head: 'Event', cell: ({ type }) => type },
      {
        head: 'State',
        cell: ({ state }) => html`<span class="${STATE_CLASSES[state]}">${state}</span>`,
      },
      { head: 'Attempts', number: true, cell: ({ attempts }) => attempts },
      { head: 'Last response', cell: lastResponse },
      { head: 'Next attempt', noWrap: true, cell: ({ next_attempt_at: at }) => timeAgo(at) },
      { head: 'Id', cell: ({ event_id: id }) => html`<code>${id}</code>` },
    ],
    log,
  )

function lastResponse({ last_attempt: last }: DeliveryJson): string {
  if (last === null) return '–'
  const response = last.response_status ?? last.error ?? 'none'
  return `${response} in ${formatDuration(last.duration_ms)}`
}

/** Dialogs that change and delete a webhook. */
const editing = (
  webhook: WebhookJson,
  { submission, path, query }: PageRequest<{ readonly edit?: string | undefined }>,
): Html =>
  dialogs(
    [
      {
        name: 'change',
        button: 'URL and events…',
        title: 'URL and events',
        content: form({
          act: 'change',
          submit: 'Save',
          fields: webhookInputs(formFields('change', submission), webhook),
        }),
      },
      {
        name: 'delete',
        button: 'Delete…',
        title: 'Delete this webhook',
        kind: 'danger',
        content: form({
          act: 'delete',
          submit: 'Delete webhook',
          kind: 'danger',
          fields: [
            formFields('delete', submission).confirmation('Its delivery log is deleted, too.'),
          ],
        }),
      },
    ],
    path,
    submission?.act ?? query.edit,
  )
