import { z } from 'zod'
import { Fault } from '../../../../core/errors.ts'
import type { WebhookJson, WebhookSecretJson } from '../../../rest/account/webhooks.ts'
import type { DeliveryJson } from '../../../rest/account/webhooks-log.ts'
import type { Listed } from '../../../rest/paging.ts'
import { ACCOUNT } from '../../areas.ts'
import { ticked } from '../../fields.ts'
import { fieldsOf, form } from '../../form.ts'
import { instantText, milliseconds } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type Act, type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { cardTable, facts, pager } from '../../table.ts'
import { webhookFields, webhookInputs } from './webhook-forms.ts'
import { stateOf } from './webhooks.ts'

const pathOf = (id: string | undefined, done: string): string =>
  `/account/webhooks/${id ?? ''}?done=${done}`

/** What is asked of one webhook, by a form without fields. */
const plainAct = (route: string, done: string, body: unknown = {}): Act =>
  act({
    fields: z.object({}),
    run: async ({ ask, params }) => {
      await ask(route, { params, body })
      return { to: pathOf(params['id'], done) }
    },
  })

const ACTS: Readonly<Record<string, Act>> = {
  test: plainAct('POST /v1/webhooks/{id}/test', 'tested'),
  enable: plainAct('PATCH /v1/webhooks/{id}', 'enabled', { enabled: true }),
  change: act({
    fields: webhookFields,
    run: async ({ ask, params }, body) => {
      await ask('PATCH /v1/webhooks/{id}', { params, body })
      return { to: pathOf(params['id'], 'changed') }
    },
  }),
  rotate: act({
    fields: z.object({}),
    run: async ({ ask, params }) => {
      const { secret } = await ask<WebhookSecretJson>('POST /v1/webhooks/{id}/rotate', { params })
      return { to: pathOf(params['id'], 'rotated'), secret }
    },
  }),
  delete: act({
    fields: z.object({ sure: ticked.refine((sure) => sure, 'has to be ticked') }),
    run: async ({ ask, params }) => {
      await ask('DELETE /v1/webhooks/{id}', { params })
      return { to: '/account/webhooks?done=deleted' }
    },
  }),
}

/** `/account/webhooks/{id}`: one webhook, and what it was sent. */
export const webhookPage = (): AnyPage =>
  page({
    path: '/account/webhooks/{id}',
    person: true,
    query: z.object({ cursor: z.string().max(500).optional() }),
    acts: ACTS,
    done: {
      made: 'The webhook is added. Its secret checks the signature of each message.',
      tested: 'A test is on its way. Look below in a moment what came of it.',
      enabled: 'It hears of what happens from now on.',
      changed: 'The webhook is changed.',
      rotated: 'It has a new secret; the old one signs too for a day.',
    },
    show: async (request) => {
      const { params, query, path } = request
      const [{ data: all }, log] = await Promise.all([
        request.ask<{ data: readonly WebhookJson[] }>('GET /v1/webhooks'),
        request.ask<Listed<DeliveryJson>>('GET /v1/webhooks/{id}/deliveries', {
          params,
          query: { limit: '20', ...query },
        }),
      ])
      const webhook = all.find(({ webhook_id: id }) => id === params['id'])
      if (!webhook) throw new Fault('not_found', 'There is no such webhook.')
      return {
        title: 'Webhook',
        area: ACCOUNT,
        tab: 'Webhooks',
        main: html`<p class="crumbs"><a href="/account/webhooks">Webhooks</a></p>
<h1>Webhook ${stateOf(webhook)}</h1>${about(webhook)}${buttons(webhook)}<h2>Deliveries</h2>${
          log.data.length === 0
            ? empty('It was sent nothing yet.')
            : html`${logTable(log.data)}${pager(path, query, log.next_cursor)}`
        }${forms(webhook, request)}`,
      }
    },
  })

const about = (webhook: WebhookJson): Html =>
  facts({
    URL: html`<code>${webhook.url}</code>`,
    'Hears of': webhook.events.join(', '),
    Added: instantText(webhook.created_at),
    'Failing since': webhook.failing_since && instantText(webhook.failing_since),
    'Old secret until': webhook.previous_secret_until && instantText(webhook.previous_secret_until),
    Off:
      webhook.disabled &&
      `since ${instantText(webhook.disabled.at)}: ${REASONS[webhook.disabled.reason]}`,
  })

const REASONS = {
  gone: 'it answered that it is gone (410)',
  failing: 'it took nothing for three days',
}

const buttons = ({ disabled }: WebhookJson): Html =>
  html`<div class="actions">${
    disabled === null
      ? form({ act: 'test', submit: 'Send a test' })
      : form({ act: 'enable', submit: 'Turn on again' })
  }${form({ act: 'rotate', submit: 'New secret', kind: 'plain' })}</div>`

const GRADES = { pending: '', delivered: 'good', failed: 'bad' }

const logTable = (log: readonly DeliveryJson[]): Html =>
  cardTable(
    'Deliveries',
    [
      { head: 'When', whole: true, cell: ({ at }) => instantText(at) },
      { head: 'Event', cell: ({ type }) => type },
      { head: 'State', cell: ({ state }) => html`<span class="${GRADES[state]}">${state}</span>` },
      { head: 'Attempts', number: true, cell: ({ attempts }) => attempts },
      { head: 'Last answer', cell: lastOf },
      { head: 'Next attempt', whole: true, cell: ({ next_attempt_at: at }) => instantText(at) },
      { head: 'Id', cell: ({ event_id: id }) => html`<code>${id}</code>` },
    ],
    log,
  )

function lastOf({ last_attempt: last }: DeliveryJson): string {
  if (last === null) return '–'
  const answer = last.response_status ?? last.error ?? 'none'
  return `${answer} in ${milliseconds(last.duration_ms)}`
}

const forms = (webhook: WebhookJson, { sent }: PageRequest<unknown>): Html =>
  html`<h2>Change</h2>${form({
    act: 'change',
    submit: 'Save',
    fields: webhookInputs(fieldsOf('change', sent), webhook),
  })}<h2>Delete</h2>${form({
    act: 'delete',
    submit: 'Delete',
    kind: 'danger',
    fields: [fieldsOf('delete', sent).sure('Its log goes with it.')],
  })}`
