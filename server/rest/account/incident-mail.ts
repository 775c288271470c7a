import type { Pool } from 'pg'
import { z } from 'zod'
import { isSubscribed, setSubscribed } from '../../../core/catalog/services/incident-mail.ts'
import { requireEmail } from '../../../core/identity/people.ts'
import { type AnyRoute, route, sessionOf } from '../route.ts'

const Subscription = z.strictObject({
  subscribed: z.boolean().meta({ description: 'True to get reported incidents by email.' }),
})

/** Emails about reported incidents, to the address of a session. */
export const incidentMailRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route('GET /v1/account/incident-mail', {
    summary: 'Returns whether you get reported incidents by email.',
    auth: 'session',
    response: { status: 200, schema: Subscription },
    handle: async (request) => ({
      body: { subscribed: await isSubscribed(pool, sessionOf(request).person) },
    }),
  }),
  route('PUT /v1/account/incident-mail', {
    summary: 'Starts or ends emails about reported incidents.',
    auth: 'session',
    body: Subscription,
    example: { subscribed: true },
    response: { status: 200, schema: Subscription },
    faults: ['email_account_required'],
    handle: async (request) => {
      const session = sessionOf(request)
      requireEmail(session)
      await setSubscribed(pool, session.person, request.body.subscribed)
      return { body: request.body }
    },
  }),
]
