import type { Pool } from 'pg'
import { z } from 'zod'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { json } from '../../../core/money.ts'
import { revokeKeyWithCredits } from '../../../core/usage/revoke-key.ts'
import { type AnyRoute, managerOf, route } from '../route.ts'

const RevokedKey = z.object({
  key_id: z.string(),
  credits_to: z.string().nullable().meta({
    description: 'Main key of the same wallet or account that has the credits now. null: none.',
  }),
  moved_microdollars: z.int(),
  left_microdollars: z.int().meta({
    description:
      'Credits that stay on the revoked key: there is no other main key, or an administrator ' +
      'froze it. Repeat the request to move them later, with what calls in flight release.',
  }),
})

export type RevokedKeyJson = z.infer<typeof RevokedKey>
interface RevokeDeps {
  readonly pool: Pool
  readonly ledger: Ledger
}

/** Revocation of keys, which moves the credits of main keys. */
export const revokeRoutes = (deps: RevokeDeps): readonly AnyRoute[] => [
  route('DELETE /v1/keys/{id}', {
    summary: 'Revokes this key or a sub-key, and all keys below it; moves credits of a main key.',
    auth: 'owner',
    query: z.strictObject({
      credits_to: z.string().max(40).optional().meta({
        description: 'Main key that receives the credits. Default: the oldest other one.',
      }),
    }),
    response: { status: 200, schema: RevokedKey },
    faults: ['not_found'],
    handle: async (request) => {
      const { id } = request.params
      const to = request.query.credits_to
      const { movedTo, moved, left } = await revokeKeyWithCredits(deps, managerOf(request), id, to)
      const amounts = { moved_microdollars: json(moved), left_microdollars: json(left) }
      return { body: { key_id: id, credits_to: movedTo, ...amounts } }
    },
  }),
]
