import { z } from 'zod'
import { setSecrets } from '../../../../core/catalog/upstreams/secrets.ts'
import { isRelayable } from '../../../../core/egress/headers.ts'
import { type AnyRoute, ownerOf, route } from '../../route.ts'
import { reviewRules, type ServiceDeps } from './deps.ts'
import { SecretView, showSecrets } from './view.ts'

/** Relayable headers and the usual credential headers; others are reserved for the hub. */
const isInjectable = (name: string): boolean =>
  isRelayable(name.toLowerCase()) || /^(?:authorization|x-api-key)$/i.test(name)

const value = z
  .string()
  .min(1)
  .max(8_000)
  .regex(/^[\x20-\x7e]+$/, 'must be printable ASCII')
const SecretInput = z.discriminatedUnion('in', [
  z.strictObject({
    in: z.literal('header'),
    name: z.string().min(1).max(100).refine(isInjectable, 'cannot be set'),
    value: value.meta({ description: 'Full header value, such as "Bearer …".' }),
  }),
  z.strictObject({
    in: z.literal('query'),
    name: z.string().regex(/^[\w.[\]-]{1,64}$/, 'must be letters, digits and _.-[]'),
    value,
  }),
])

/** Upstream credentials, which the hub adds to each request. */
export const serviceSecretRoutes = (deps: ServiceDeps): readonly AnyRoute[] => [
  route('PUT /v1/provider/services/{slug}/secret', {
    summary: 'Sets the credentials added to each request to your API. Encrypted, never shown.',
    auth: 'provider',
    body: z.strictObject({
      secrets: z
        .array(SecretInput)
        .max(5)
        .refine(
          (list) =>
            new Set(list.map((each) => `${each.in} ${each.name.toLowerCase()}`)).size ===
            list.length,
          'must not contain duplicate names',
        )
        .meta({ description: 'All credentials. An empty list removes them.' }),
    }),
    example: { secrets: [{ in: 'header', name: 'Authorization', value: 'Bearer abc' }] },
    response: { status: 200, schema: z.object({ secrets: z.array(SecretView) }) },
    faults: ['root_key_required', 'service_not_found', 'service_state', 'service_incomplete'],
    handle: async (request) => {
      const { slug } = request.params
      const secrets = request.body.secrets.map(({ in: place, name, value: text }) => ({
        place,
        name: place === 'header' ? name.toLowerCase() : name,
        value: text,
      }))
      const rules = reviewRules(deps)
      await setSecrets(deps.pool, deps.keys, ownerOf(request), slug, secrets, rules)
      await deps.catalog.refresh(slug)
      return { body: { secrets: await showSecrets(deps, slug) } }
    },
  }),
]
