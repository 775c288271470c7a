import { z } from 'zod'
import { setSecrets } from '../../../core/catalog/upstreams/secrets.ts'
import { isRelayable } from '../../../core/egress/headers.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'
import type { ServicePorts } from './services-parts.ts'
import { SecretView, secretsOf } from './services-view.ts'

/** Those that say who asks are what secrets mostly are; the others stay the hub's. */
const isInjectable = (name: string): boolean =>
  isRelayable(name.toLowerCase()) || /^(?:authorization|x-api-key)$/i.test(name)

const value = z
  .string()
  .min(1)
  .max(8_000)
  .regex(/^[\x20-\x7e]+$/, 'printable ASCII')
const Secret = z.discriminatedUnion('in', [
  z.strictObject({
    in: z.literal('header'),
    name: z.string().min(1).max(100).refine(isInjectable, 'cannot be set'),
    value: value.meta({ description: 'All of it, such as "Bearer …".' }),
  }),
  z.strictObject({
    in: z.literal('query'),
    name: z.string().regex(/^[\w.[\]-]{1,64}$/, 'letters, digits and _.-[]'),
    value,
  }),
])

/** What the hub adds to each request of a service. */
export const serviceSecrets = (ports: ServicePorts): readonly AnyRoute[] => [
  route({
    method: 'PUT',
    path: '/v1/provider/services/{slug}/secret',
    summary: 'Sets what the hub adds to each request to your API. Kept encrypted, never shown.',
    auth: 'provider',
    body: z.strictObject({
      secrets: z
        .array(Secret)
        .max(5)
        .refine(
          (list) =>
            new Set(list.map((each) => `${each.in} ${each.name.toLowerCase()}`)).size ===
            list.length,
          'a name is there twice',
        )
        .meta({ description: 'All of them; an empty list takes them away.' }),
    }),
    example: { secrets: [{ in: 'header', name: 'Authorization', value: 'Bearer abc' }] },
    answer: { status: 200, schema: z.object({ secrets: z.array(SecretView) }) },
    faults: ['root_key_required', 'service_not_found', 'service_state', 'service_incomplete'],
    handle: async (request) => {
      const { slug = '' } = request.params
      const secrets = request.body.secrets.map(({ in: place, name, value: text }) => ({
        place,
        name: place === 'header' ? name.toLowerCase() : name,
        value: text,
      }))
      await setSecrets(ports.pool, ports.keys, ownerOf(request), slug, secrets)
      await ports.catalog.refresh(slug)
      return { body: { secrets: await secretsOf(ports, slug) } }
    },
  }),
]
