import type { Pool } from 'pg'
import { z } from 'zod'
import { type AnyRoute, route } from './route.ts'

const State = z.object({ status: z.enum(['ok', 'unavailable']) })

const Health = z.object({
  ...State.shape,
  version: z.string(),
  sandbox: z.boolean(),
  checks: z.object({ database: z.enum(['ok', 'unavailable']) }),
})

export const healthRoutes = (
  pool: Pool,
  facts: { readonly version: string; readonly sandbox: boolean },
  draining: () => boolean,
): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/health',
    summary: 'Whether the hub can serve, and whether its money is real.',
    auth: 'none',
    unlimited: true,
    answer: { status: 200, or: 503, schema: Health },
    handle: async () => {
      const state = await stateOf(pool)
      const body = { status: state, ...facts, checks: { database: state } }
      return { status: statusOf(state), body }
    },
  }),
  route({
    method: 'GET',
    path: '/livez',
    summary: 'Whether the process answers at all: if not, start it again.',
    auth: 'none',
    unlimited: true,
    answer: { status: 200, schema: State },
    handle: async () => ({ body: { status: 'ok' } }),
  }),
  route({
    method: 'GET',
    path: '/readyz',
    summary:
      'Whether requests should be sent here now: the database answers, and nothing is stopping.',
    auth: 'none',
    unlimited: true,
    answer: { status: 200, or: 503, schema: State },
    handle: async () => {
      const status = draining() ? 'unavailable' : await stateOf(pool)
      return { status: statusOf(status), body: { status } }
    },
  }),
]

type State = z.infer<typeof State>['status']

const stateOf = (pool: Pool): Promise<State> =>
  pool.query('SELECT 1').then(
    () => 'ok' as const,
    () => 'unavailable' as const,
  )

const statusOf = (state: State): number => (state === 'ok' ? 200 : 503)
