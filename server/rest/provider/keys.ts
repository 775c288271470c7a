import type { Pool } from 'pg'
import { z } from 'zod'
import { createProviderKey } from '../../../core/identity/provider-keys.ts'
import { plainText } from '../fields.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

/** Creation of provider keys. They are listed, rotated and revoked like other keys. */
export const providerKeyRoutes = (pool: Pool): readonly AnyRoute[] => [
  route('POST /v1/provider/keys', {
    summary: 'Creates a key that manages the services of its owner and cannot spend.',
    auth: 'owner',
    body: z
      .strictObject({
        name: plainText(100).nullable(),
        expires_at: z.iso.datetime().nullable(),
      })
      .partial(),
    response: {
      status: 201,
      location: '/v1/keys/{key_id}',
      schema: z.object({
        key_id: z.string(),
        role: z.literal('provider'),
        api_key: z.string().meta({ description: 'Shown only once. Send it as a Bearer token.' }),
      }),
    },
    faults: ['root_key_required', 'key_limit_reached'],
    handle: async (request) => {
      const [principal = ''] = ownerOf(request)
      const { name = null, expires_at: expires } = request.body
      const made = await createProviderKey(pool, {
        principal,
        parent: request.caller?.keyId ?? null,
        name,
        expiresAt: expires == null ? null : new Date(expires),
      })
      return { status: 201, body: { key_id: made.keyId, role: 'provider', api_key: made.apiKey } }
    },
  }),
]
