import { z } from 'zod'
import type { ClientCredentials } from '../../../../core/catalog/upstreams/oauth-tokens.ts'
import { type StoredSecret, setSecrets } from '../../../../core/catalog/upstreams/secrets.ts'
import { isRelayable } from '../../../../core/egress/headers.ts'
import { inputFault } from '../../input-errors.ts'
import { type AnyRoute, ownerOf, route } from '../../route.ts'
import { checkUrl } from './base-url.ts'
import { type ServiceDeps, serviceReviewRules } from './deps.ts'
import { SecretView, showSecrets } from './view.ts'

/** Relayable headers and the usual credential headers; others are reserved for the hub. */
const isInjectable = (name: string): boolean =>
  isRelayable(name.toLowerCase()) || /^(?:authorization|x-api-key)$/i.test(name)

const value = z
  .string()
  .min(1)
  .max(8_000)
  .regex(/^[\x20-\x7e]+$/, 'must be printable ASCII')
const oauthText = z
  .string()
  .min(1)
  .max(1_000)
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
  z.strictObject({
    in: z.literal('oauth2'),
    token_url: z.string().min(1).max(500).meta({
      description: 'Token endpoint of OAuth2 client credentials. https in production.',
    }),
    client_id: oauthText.meta({ description: 'Sent only to token_url.' }),
    client_secret: oauthText,
    scope: oauthText.optional().meta({ description: 'Scopes, separated by spaces.' }),
    audience: oauthText.optional().meta({ description: 'If the token endpoint requires one.' }),
    client_authentication: z.enum(['basic', 'body']).default('basic').meta({
      description: 'Place of id and secret: the header Authorization, or the body.',
    }),
  }),
])
type SecretOrder = z.infer<typeof SecretInput>

const nameOf = (secret: SecretOrder): string =>
  secret.in === 'oauth2'
    ? 'authorization' // the header that gets the token
    : secret.in === 'header'
      ? secret.name.toLowerCase()
      : secret.name

/** @throws Fault `validation_failed` for a token URL that the hub must not call */
function toStored(secret: SecretOrder, i: number, deps: ServiceDeps): StoredSecret {
  const name = nameOf(secret)
  if (secret.in !== 'oauth2') return { place: secret.in, name, value: secret.value }
  const { url, error } = checkUrl(secret.token_url, deps.rules, deps.localOrigins)
  if (url === undefined) throw inputFault(`/secrets/${i}/token_url`, error)
  const credentials: ClientCredentials = {
    tokenUrl: url,
    clientId: secret.client_id,
    clientSecret: secret.client_secret,
    scope: secret.scope,
    audience: secret.audience,
    authentication: secret.client_authentication,
  }
  return { place: 'oauth2', name, value: JSON.stringify(credentials) }
}

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
            new Set(list.map((each) => `${each.in === 'query'} ${nameOf(each).toLowerCase()}`))
              .size === list.length,
          'must not contain duplicate names; a token of oauth2 is the header Authorization',
        )
        .meta({ description: 'All credentials. An empty list removes them.' }),
    }),
    example: { secrets: [{ in: 'header', name: 'Authorization', value: 'Bearer abc' }] },
    response: { status: 200, schema: z.object({ secrets: z.array(SecretView) }) },
    faults: ['root_key_required', 'service_not_found', 'service_state', 'service_incomplete'],
    handle: async (request) => {
      const { slug } = request.params
      const secrets = request.body.secrets.map((each, i) => toStored(each, i, deps))
      const rules = serviceReviewRules(deps)
      await setSecrets(deps.pool, deps.keys, ownerOf(request), slug, secrets, rules)
      await deps.catalog.refresh(slug)
      return { body: { secrets: await showSecrets(deps, slug) } }
    },
  }),
]
