import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import { endSessions, listSessions } from '../../../core/identity/sessions.ts'
import { type AnyRoute, route, sessionOf } from '../route.ts'
import { sessionCookie } from '../visitor.ts'

const SessionItem = z.object({
  session_id: z.string(),
  current: z.boolean(),
  user_agent: z.string(),
  network: z.string().meta({ description: 'From where it was opened: an IPv4 /24 or IPv6 /64.' }),
  created_at: z.iso.datetime(),
  used_at: z.iso.datetime().meta({ description: 'To the minute.' }),
  expires_at: z.iso.datetime(),
})

export type SessionJson = z.infer<typeof SessionItem>

const Ended = z.object({ ended: z.int().meta({ description: 'How many sessions.' }) })

/** Where somebody is signed in, and the ways out. */
export const sessionRoutes = ({
  pool,
  baseUrl,
}: {
  readonly pool: Pool
  readonly baseUrl: () => string
}): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/sessions',
    summary: 'Where you are signed in, the newest first.',
    auth: 'session',
    answer: { status: 200, schema: z.object({ data: z.array(SessionItem) }) },
    handle: async (request) => {
      const session = sessionOf(request)
      const data = (await listSessions(pool, session)).map((each) => ({
        session_id: each.id,
        current: each.id === session.id,
        user_agent: each.agent,
        network: each.network,
        created_at: each.created_at.toISOString(),
        used_at: each.used_at.toISOString(),
        expires_at: each.expires_at.toISOString(),
      }))
      return { body: { data } }
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/sessions',
    summary: 'Signs you out everywhere, here too.',
    auth: 'session',
    answer: { status: 200, schema: Ended },
    handle: async (request) => {
      const ended = await endSessions(pool, sessionOf(request))
      return { headers: { 'Set-Cookie': sessionCookie(baseUrl(), null) }, body: { ended } }
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/sessions/{id}',
    summary: 'Signs you out of one session; `current` is this one.',
    auth: 'session',
    answer: { status: 200, schema: Ended },
    faults: ['not_found'],
    handle: async (request) => {
      const session = sessionOf(request)
      const { id = '' } = request.params
      const which = id === 'current' ? session.id : id
      const ended = await endSessions(pool, session, which)
      if (ended === 0) throw new Fault('not_found', 'You have no such session.')
      const isHere = which === session.id
      return {
        ...(isHere && { headers: { 'Set-Cookie': sessionCookie(baseUrl(), null) } }),
        body: { ended },
      }
    },
  }),
]
