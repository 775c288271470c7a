import type { Pool } from 'pg'
import { z } from 'zod'
import { makeProviderKey } from '../../../core/identity/provider-keys.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

/** Keys for what a principal sells. They are listed, rotated and revoked as all keys are. */
export const providerKeyRoutes = (pool: Pool): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/provider/keys',
    summary: 'Makes a key that manages what its wallet or account sells, and spends nothing.',
    auth: 'owner',
    body: z
      .strictObject({
        name: z.string().min(1).max(100).nullable(),
        expires_at: z.iso.datetime().nullable(),
      })
      .partial(),
    answer: {
      status: 201,
      location: '/v1/keys/{key_id}',
      schema: z.object({
        key_id: z.string(),
        role: z.literal('provider'),
        api_key: z.string().meta({ description: 'Shown this once. Send it as a Bearer token.' }),
      }),
    },
    faults: ['root_key_required', 'key_limit_reached'],
    handle: async (request) => {
      const [principal = ''] = ownerOf(request)
      const { name = null, expires_at: expires } = request.body
      const made = await makeProviderKey(pool, {
        principal,
        parent: request.caller?.keyId ?? null,
        name,
        expiresAt: expires == null ? null : new Date(expires),
      })
      return { status: 201, body: { key_id: made.keyId, role: 'provider', api_key: made.apiKey } }
    },
  }),
]
