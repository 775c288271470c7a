import type { Pool } from 'pg'
import { z } from 'zod'
import { publishedCheckpoints } from '../../core/ledger/checkpoint.ts'
import { dayBounds } from './days.ts'
import { type AnyRoute, route } from './route.ts'

/** Signed checkpoints of the ledger, which anyone may store and compare. */
export const checkpointRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route('GET /v1/ledger/checkpoints', {
    summary: 'Returns the newest signed checkpoint of each ledger shard, as C2SP signed notes.',
    auth: 'none',
    shared: true,
    query: z.strictObject({
      day: z.iso
        .date()
        .optional()
        .meta({ description: 'The last ones of this UTC day or before.' }),
    }),
    response: { status: 200, type: 'text/plain', schema: z.string() },
    handle: async ({ query: { day } }) => {
      const notes = await publishedCheckpoints(pool, dayBounds({ to: day }).to)
      const headers = { 'Content-Type': 'text/plain; charset=utf-8' }
      return { headers, body: Buffer.from(notes.join('\n')) }
    },
  }),
]
