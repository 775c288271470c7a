import type { Pool } from 'pg'
import { z } from 'zod'
import { limitWait } from '../../core/ledger/retry.ts'
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
  build: { readonly version: string; readonly sandbox: boolean },
  draining: () => boolean,
): readonly AnyRoute[] => [
  route('GET /health', {
    summary: 'Returns health and version, and whether this is a sandbox.',
    auth: 'none',
    unlimited: true,
    response: { status: 200, or: 503, schema: Health },
    handle: async () => {
      const state = await databaseState(pool)
      const body = { status: state, ...build, checks: { database: state } }
      return { status: httpStatusOf(state), body }
    },
  }),
  route('GET /livez', {
    summary: 'Liveness probe: if it fails, restart the process.',
    auth: 'none',
    unlimited: true,
    response: { status: 200, schema: State },
    handle: async () => ({ body: { status: 'ok' } }),
  }),
  route('GET /readyz', {
    summary: 'Readiness probe: the database responds and the process is not shutting down.',
    auth: 'none',
    unlimited: true,
    response: { status: 200, or: 503, schema: State },
    handle: async () => {
      const status = draining() ? 'unavailable' : await databaseState(pool)
      return { status: httpStatusOf(status), body: { status } }
    },
  }),
]

type State = z.infer<typeof State>['status']

const databaseState = (pool: Pool): Promise<State> =>
  limitWait(pool.query('SELECT 1')).then(
    () => 'ok' as const,
    () => 'unavailable' as const,
  )

const httpStatusOf = (state: State): number => (state === 'ok' ? 200 : 503)
