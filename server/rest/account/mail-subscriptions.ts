import type { Pool } from 'pg'
import { z } from 'zod'
import { requireEmail } from '../../../core/identity/people.ts'
import { isSubscribed, type MailTopic, setSubscribed } from '../../../core/mail/subscriptions.ts'
import { type AnyRoute, route, sessionOf } from '../route.ts'

const Subscription = z.strictObject({
  subscribed: z.boolean().meta({ description: 'True to get these emails.' }),
})

/** Emails that the person of a session subscribes to. */
export const mailSubscriptionRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  ...routesOf(pool, 'incidents', 'incident', 'reported incidents'),
  ...routesOf(pool, 'balance', 'balance', 'low balances of your keys'),
]

const routesOf = (
  pool: Pool,
  topic: MailTopic,
  name: 'incident' | 'balance',
  subject: string,
): readonly AnyRoute[] => [
  route(`GET /v1/account/${name}-mail`, {
    summary: `Returns whether you get emails about ${subject}.`,
    auth: 'session',
    response: { status: 200, schema: Subscription },
    handle: async (request) => ({
      body: { subscribed: await isSubscribed(pool, topic, sessionOf(request).person) },
    }),
  }),
  route(`PUT /v1/account/${name}-mail`, {
    summary: `Starts or ends emails about ${subject}.`,
    auth: 'session',
    body: Subscription,
    example: { subscribed: true },
    response: { status: 200, schema: Subscription },
    faults: ['email_account_required'],
    handle: async (request) => {
      const session = sessionOf(request)
      requireEmail(session)
      await setSubscribed(pool, topic, session.person, request.body.subscribed)
      return { body: request.body }
    },
  }),
]
