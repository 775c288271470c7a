import { z } from 'zod'
import { EVENTS, type EventType } from '../../../../core/webhooks/events.ts'
import type { WebhookJson } from '../../../rest/account/webhooks.ts'
import { ticked } from '../../fields.ts'
import type { fieldsOf } from '../../form.ts'
import { type Html, html } from '../../html.ts'

const TYPES = Object.keys(EVENTS) as EventType[]
const boxOf = (type: EventType): string => `on:${type}`

/** Where events go, and which: a box for each kind. */
export const webhookFields = z
  .object({ url: z.string().trim() })
  .extend(Object.fromEntries(TYPES.map((type) => [boxOf(type), ticked])))
  .transform(({ url, ...boxes }) => ({
    url,
    events: TYPES.filter((type) => (boxes as Readonly<Record<string, boolean>>)[boxOf(type)]),
  }))
  .refine(({ events }) => events.length > 0, {
    error: 'tick at least one',
    path: [boxOf(TYPES[0]!)],
  })

/** The fields of a webhook, with those of one that there is. */
export const webhookInputs = (
  { text, check }: ReturnType<typeof fieldsOf>,
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
    hint: html`It is sent POST requests: <a href="/docs/webhooks">what they say, and how their
signature is checked</a>.`,
  }),
  html`<fieldset><legend>What it hears of</legend>${TYPES.map((type) =>
    check({
      name: boxOf(type),
      label: type,
      hint: EVENTS[type],
      checked: webhook?.events.includes(type) ?? false,
    }),
  )}</fieldset>`,
]
