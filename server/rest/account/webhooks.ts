import { isIP } from 'node:net'
import type { Pool } from 'pg'
import { z } from 'zod'
import { isPublicAddress } from '../../../core/egress/address.ts'
import { EgressError } from '../../../core/egress/errors.ts'
import { parseTarget, type TargetRules } from '../../../core/egress/target.ts'
import { Fault } from '../../../core/errors.ts'
import { EVENTS, type EventType } from '../../../core/webhooks/events.ts'
import type { WebhookSigner } from '../../../core/webhooks/sign.ts'
import {
  addWebhook,
  changeWebhook,
  deleteWebhook,
  listWebhooks,
  rotateWebhook,
  testWebhook,
  type WebhookInfo,
} from '../../../core/webhooks/webhooks.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'
import { deliveryRoutes } from './webhooks-log.ts'

export interface WebhookPorts {
  readonly pool: Pool
  readonly signer: WebhookSigner
  readonly rules: TargetRules
}

const OVERLAP_DEFAULT = 86_400
const OVERLAP_MAX = 604_800

const types = Object.keys(EVENTS) as [EventType, ...EventType[]]
const events = z
  .array(z.enum(types))
  .min(1)
  .max(types.length)
  .meta({
    description: types.map((type) => `${type}: ${EVENTS[type]}`).join(' '),
  })
const url = z.string().min(1).max(2_048).meta({ description: 'Public, and https in production.' })

const Shown = {
  webhook_id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  created_at: z.iso.datetime(),
  failing_since: z.iso.datetime().nullable(),
  previous_secret_until: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'So long the secret before signs too.' }),
  disabled: z
    .object({ at: z.iso.datetime(), reason: z.enum(['gone', 'failing']) })
    .nullable()
    .meta({ description: 'gone: it answered 410. failing: no success for three days.' }),
}
const Webhook = z.object(Shown)
export type WebhookJson = z.infer<typeof Webhook>
const WithSecret = z.object({
  ...Shown,
  secret: z.string().meta({ description: 'Checks signatures (Standard Webhooks). Keep it.' }),
})
export type WebhookSecretJson = z.infer<typeof WithSecret>
const Id = z.object({ webhook_id: z.string() })

/** Webhooks by the specification "Standard Webhooks": what happens is told, signed, and retried. */
export const webhookRoutes = (ports: WebhookPorts): readonly AnyRoute[] => [
  ...makingRoutes(ports),
  ...changingRoutes(ports),
  ...deliveryRoutes(ports.pool),
]

const makingRoutes = ({ pool, signer, rules }: WebhookPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/webhooks',
    summary: 'Your webhooks, oldest first: 20 at most.',
    auth: 'owner',
    answer: { status: 200, schema: z.object({ data: z.array(Webhook) }) },
    faults: ['root_key_required'],
    handle: async (request) => ({
      body: { data: (await listWebhooks(pool, ownerOf(request))).map(show) },
    }),
  }),
  route({
    method: 'POST',
    path: '/v1/webhooks',
    summary: 'Has events sent to a URL of yours, signed with the secret of the answer.',
    auth: 'owner',
    body: z.strictObject({ url, events }),
    answer: { status: 201, schema: WithSecret },
    faults: ['root_key_required', 'key_limit_reached', 'destination_not_allowed'],
    handle: async (request) => {
      const [principal = ''] = ownerOf(request)
      const { body } = request
      const order = { url: targetOf(body.url, rules), events: [...new Set(body.events)] }
      const webhook = await addWebhook(pool, principal, order)
      return { status: 201, body: showSecret(signer, webhook) }
    },
  }),
]

const changingRoutes = ({ pool, signer, rules }: WebhookPorts): readonly AnyRoute[] => [
  route({
    method: 'PATCH',
    path: '/v1/webhooks/{id}',
    summary: 'Changes a webhook, or enables one that was disabled.',
    auth: 'owner',
    body: z.strictObject({ url, events, enabled: z.literal(true) }).partial(),
    answer: { status: 200, schema: Webhook },
    faults: ['root_key_required', 'not_found', 'destination_not_allowed'],
    handle: async (request) => {
      const { id = '' } = request.params
      const { body } = request
      const change = { ...body, url: body.url && targetOf(body.url, rules) }
      return { body: show(await changeWebhook(pool, ownerOf(request), id, change)) }
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/webhooks/{id}',
    summary: 'Removes a webhook with its log.',
    auth: 'owner',
    answer: { status: 200, schema: Id },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      await deleteWebhook(pool, ownerOf(request), id)
      return { body: { webhook_id: id } }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/webhooks/{id}/rotate',
    summary: 'Gives a webhook a new secret; the old one signs too for a while.',
    auth: 'owner',
    body: z.strictObject({
      overlap_seconds: z.int().min(0).max(OVERLAP_MAX).default(OVERLAP_DEFAULT),
    }),
    answer: { status: 201, schema: WithSecret },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      const overlap = request.body.overlap_seconds
      const webhook = await rotateWebhook(pool, ownerOf(request), id, overlap)
      return { status: 201, body: showSecret(signer, webhook) }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/webhooks/{id}/test',
    summary: 'Sends it the event webhook.test; its log tells what came of it.',
    auth: 'owner',
    answer: { status: 202, schema: z.object({ event_id: z.string() }) },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      return { status: 202, body: { event_id: await testWebhook(pool, ownerOf(request), id) } }
    },
  }),
]

/**
 * A URL that could be delivered to. Names are looked up for each delivery anew, and checked then.
 * @throws Fault `validation_failed`, or `destination_not_allowed` for an address that is not public
 */
function targetOf(text: string, rules: TargetRules): string {
  try {
    const target = parseTarget(text, rules)
    const host = target.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !isPublicAddress(host)) throw new Fault('destination_not_allowed')
    return target.href
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    throw new Fault('validation_failed', error.message, {
      extras: { issues: [{ path: '/url', message: error.message }] },
    })
  }
}

const show = (webhook: WebhookInfo) => ({
  webhook_id: webhook.id,
  url: webhook.url,
  events: webhook.events,
  created_at: webhook.created_at.toISOString(),
  failing_since: webhook.failing_since?.toISOString() ?? null,
  previous_secret_until: webhook.previous_until?.toISOString() ?? null,
  disabled:
    webhook.disabled_at === null
      ? null
      : { at: webhook.disabled_at.toISOString(), reason: webhook.disabled_reason },
})

const showSecret = (signer: WebhookSigner, webhook: WebhookInfo) => ({
  ...show(webhook),
  secret: signer.secretOf(webhook.id, webhook.secret_version),
})
