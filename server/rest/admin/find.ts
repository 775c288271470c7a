import type { Pool } from 'pg'
import { z } from 'zod'
import { findAccounts } from '../../../core/identity/find-accounts.ts'
import { type AnyRoute, route } from '../route.ts'

const Found = z.object({
  data: z.array(
    z.object({
      kind: z.enum(['user', 'provider', 'key']),
      id: z.string(),
      name: z.string().nullable().meta({
        description: 'Email address or wallet of a user or owner; name of a key.',
      }),
      active: z.boolean().meta({ description: 'False if suspended, frozen or revoked.' }),
    }),
  ),
})
export type FoundAccountsJson = z.infer<typeof Found>

/** Search of administrators over users, providers and keys. */
export const findRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route('GET /v1/admin/find', {
    summary: 'Finds users, providers and keys by id, email address or wallet; 20 of each.',
    auth: 'admin',
    query: z.strictObject({
      q: z.string().trim().min(3).max(254).meta({
        description: 'Part of an email address or provider id, or a whole wallet or key id.',
      }),
    }),
    response: { status: 200, schema: Found },
    handle: async ({ query: { q } }) => ({ body: { data: [...(await findAccounts(pool, q))] } }),
  }),
]
