import type { Pool } from 'pg'
import { z } from 'zod'
import { type AnyRoute, route } from './route.ts'

const Health = z.object({
  status: z.enum(['ok', 'unavailable']),
  version: z.string(),
  sandbox: z.boolean(),
  checks: z.object({ database: z.enum(['ok', 'unavailable']) }),
})

export const healthRoutes = (
  pool: Pool,
  facts: { readonly version: string; readonly sandbox: boolean },
): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/health',
    summary: 'Whether the hub can serve, and whether its money is real.',
    auth: 'none',
    unlimited: true,
    answer: { status: 200, schema: Health },
    handle: async () => {
      const alive = await pool.query('SELECT 1').then(
        () => true,
        () => false,
      )
      const state = alive ? ('ok' as const) : ('unavailable' as const)
      return {
        status: alive ? 200 : 503,
        headers: { 'Cache-Control': 'no-store' },
        body: { status: state, ...facts, checks: { database: state } },
      }
    },
  }),
]
