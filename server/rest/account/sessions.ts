import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import {
  endSessions,
  listSessions,
  type StaffSessionRules,
} from '../../../core/identity/sessions.ts'
import { sessionCookie } from '../authentication.ts'
import { type AnyRoute, route, sessionOf } from '../route.ts'

const SessionItem = z.object({
  session_id: z.string(),
  current: z.boolean(),
  user_agent: z.string(),
  network: z.string().meta({ description: 'Network of the sign-in: an IPv4 /24 or IPv6 /64.' }),
  created_at: z.iso.datetime(),
  used_at: z.iso.datetime().meta({ description: 'Last use, to the minute.' }),
  expires_at: z.iso.datetime(),
})

export type SessionJson = z.infer<typeof SessionItem>

const EndedSessions = z.object({
  ended: z.int().meta({ description: 'Number of ended sessions.' }),
})

export const sessionRoutes = ({
  pool,
  baseUrl,
  ...rules
}: StaffSessionRules & {
  readonly pool: Pool
  readonly baseUrl: () => string
}): readonly AnyRoute[] => [
  route('GET /v1/sessions', {
    summary: 'Lists your sessions, newest first.',
    auth: 'session',
    response: { status: 200, schema: z.object({ data: z.array(SessionItem) }) },
    handle: async (request) => {
      const session = sessionOf(request)
      const data = (await listSessions(pool, session, rules)).map((each) => ({
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
  route('DELETE /v1/sessions', {
    summary: 'Signs you out of all sessions, including this one.',
    auth: 'session',
    response: { status: 200, schema: EndedSessions },
    handle: async (request) => {
      const ended = await endSessions(pool, sessionOf(request))
      return { headers: { 'Set-Cookie': sessionCookie(baseUrl(), null) }, body: { ended } }
    },
  }),
  route('DELETE /v1/sessions/{id}', {
    summary: 'Signs you out of one session; the id `current` is this one.',
    auth: 'session',
    response: { status: 200, schema: EndedSessions },
    faults: ['not_found'],
    handle: async (request) => {
      const session = sessionOf(request)
      const { id } = request.params
      const which = id === 'current' ? session.id : id
      const ended = await endSessions(pool, session, which)
      if (ended === 0) throw new Fault('not_found', 'You have no session with this id.')
      const isHere = which === session.id
      return {
        ...(isHere && { headers: { 'Set-Cookie': sessionCookie(baseUrl(), null) } }),
        body: { ended },
      }
    },
  }),
]
