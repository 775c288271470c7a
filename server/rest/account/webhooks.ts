import { isIP } from 'node:net'
import type { Pool } from 'pg'
import { z } from 'zod'
import { isPublicAddress } from '../../../core/egress/address.ts'
import { EgressError } from '../../../core/egress/errors.ts'
import { parseTarget, type TargetRules } from '../../../core/egress/target.ts'
import { Fault } from '../../../core/errors.ts'
import { EVENTS, type EventType } from '../../../core/webhooks/events.ts'
import type { WebhookSigner } from '../../../core/webhooks/signer.ts'
import {
  addWebhook,
  changeWebhook,
  deleteWebhook,
  listWebhooks,
  rotateWebhook,
  testWebhook,
  type WebhookInfo,
} from '../../../core/webhooks/webhooks.ts'
import { inputFault } from '../input-errors.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'
import { deliveryRoutes } from './webhook-deliveries.ts'

export interface WebhookDeps {
  readonly pool: Pool
  readonly signer: WebhookSigner
  readonly rules: TargetRules
}

const OVERLAP_DEFAULT_SECONDS = 86_400
const OVERLAP_MAX_SECONDS = 604_800

const types = Object.keys(EVENTS) as [EventType, ...EventType[]]
const events = z
  .array(z.enum(types))
  .min(1)
  .max(types.length)
  .meta({ description: types.map((type) => `${type}: ${EVENTS[type]}`).join(' ') })
const url = z.string().min(1).max(2_048).meta({ description: 'Public URL; https in production.' })

const webhookFields = {
  webhook_id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  created_at: z.iso.datetime(),
  failing_since: z.iso.datetime().nullable(),
  previous_secret_until: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'Until then, the previous secret also signs.' }),
  disabled: z
    .object({ at: z.iso.datetime(), reason: z.enum(['gone', 'failing']) })
    .nullable()
    .meta({ description: 'gone: the server responded 410. failing: no success for three days.' }),
}
const Webhook = z.object(webhookFields)
export type WebhookJson = z.infer<typeof Webhook>
const WebhookWithSecret = z.object({
  ...webhookFields,
  secret: z.string().meta({ description: 'Verifies signatures (Standard Webhooks). Store it.' }),
})
export type WebhookSecretJson = z.infer<typeof WebhookWithSecret>
const WebhookId = z.object({ webhook_id: z.string() })

/** Webhooks (standardwebhooks.com): signed events, retried until received. */
export const webhookRoutes = (deps: WebhookDeps): readonly AnyRoute[] => [
  ...collectionRoutes(deps),
  ...singleWebhookRoutes(deps),
  ...deliveryRoutes(deps.pool),
]

const collectionRoutes = ({ pool, signer, rules }: WebhookDeps): readonly AnyRoute[] => [
  route('GET /v1/webhooks', {
    summary: 'Lists your webhooks, oldest first; at most 20.',
    auth: 'owner',
    response: { status: 200, schema: z.object({ data: z.array(Webhook) }) },
    faults: ['root_key_required'],
    handle: async (request) => ({
      body: { data: (await listWebhooks(pool, ownerOf(request))).map(showWebhook) },
    }),
  }),
  route('POST /v1/webhooks', {
    summary: 'Creates a webhook and returns the secret that signs its events.',
    auth: 'owner',
    body: z.strictObject({ url, events }),
    response: { status: 201, schema: WebhookWithSecret },
    faults: ['root_key_required', 'key_limit_reached', 'destination_not_allowed'],
    handle: async (request) => {
      const [principal = ''] = ownerOf(request)
      const { body } = request
      const order = { url: parseTargetUrl(body.url, rules), events: [...new Set(body.events)] }
      const webhook = await addWebhook(pool, principal, order, signer.keyVersion)
      return { status: 201, body: await showWebhookWithSecret(signer, webhook) }
    },
  }),
]

const singleWebhookRoutes = ({ pool, signer, rules }: WebhookDeps): readonly AnyRoute[] => [
  route('PATCH /v1/webhooks/{id}', {
    summary: 'Changes a webhook, or enables it again.',
    auth: 'owner',
    body: z.strictObject({ url, events, enabled: z.literal(true) }).partial(),
    response: { status: 200, schema: Webhook },
    faults: ['root_key_required', 'not_found', 'destination_not_allowed'],
    handle: async (request) => {
      const { body } = request
      const change = { ...body, url: body.url && parseTargetUrl(body.url, rules) }
      return {
        body: showWebhook(await changeWebhook(pool, ownerOf(request), request.params.id, change)),
      }
    },
  }),
  route('DELETE /v1/webhooks/{id}', {
    summary: 'Deletes a webhook and its delivery log.',
    auth: 'owner',
    response: { status: 200, schema: WebhookId },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => {
      const { id } = request.params
      await deleteWebhook(pool, ownerOf(request), id)
      return { body: { webhook_id: id } }
    },
  }),
  route('POST /v1/webhooks/{id}/rotate', {
    summary: 'Creates a new secret for a webhook; the old one also signs during the overlap.',
    auth: 'owner',
    body: z.strictObject({
      overlap_seconds: z.int().min(0).max(OVERLAP_MAX_SECONDS).default(OVERLAP_DEFAULT_SECONDS),
    }),
    response: { status: 201, schema: WebhookWithSecret },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => {
      const overlap = request.body.overlap_seconds
      const { id } = request.params
      const owner = ownerOf(request)
      const webhook = await rotateWebhook(pool, owner, id, overlap, signer.keyVersion)
      return { status: 201, body: await showWebhookWithSecret(signer, webhook) }
    },
  }),
  route('POST /v1/webhooks/{id}/test', {
    summary: 'Sends the event webhook.test; see the delivery log for the result.',
    auth: 'owner',
    response: { status: 202, schema: z.object({ event_id: z.string() }) },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => ({
      status: 202,
      body: { event_id: await testWebhook(pool, ownerOf(request), request.params.id) },
    }),
  }),
]

/**
 * Checks the URL of a webhook. Host names are resolved and checked at each delivery.
 * @throws Fault `validation_failed`, or `destination_not_allowed` if the IP address is not public
 */
function parseTargetUrl(text: string, rules: TargetRules): string {
  try {
    const target = parseTarget(text, rules)
    const host = target.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !isPublicAddress(host)) throw new Fault('destination_not_allowed')
    return target.href
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    throw inputFault('/url', error.message)
  }
}

const showWebhook = (webhook: WebhookInfo) => ({
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

const showWebhookWithSecret = async (signer: WebhookSigner, webhook: WebhookInfo) => {
  const { id, secret_version: version, key_version: keyVersion } = webhook
  return { ...showWebhook(webhook), secret: await signer.secretOf(id, { version, keyVersion }) }
}
