import type { Pool } from 'pg'
import { z } from 'zod'
import {
  endSubscription,
  findTopic,
  type MailTopic,
  UNSUBSCRIBE_PATH,
} from '../../../core/mail/subscriptions.ts'
import { form } from '../form.ts'
import { html } from '../html.ts'
import { successMessage } from '../messages.ts'
import { type AnyPage, formAction, page } from '../page.ts'

const SUBJECTS: Readonly<Record<MailTopic, string>> = {
  incidents: 'incidents',
  balance: 'low balances',
}

/**
 * `/unsubscribe`: ends emails about a topic by the link in one, without a session. Opening it
 * changes nothing, because mail scanners follow links. Mail programs post without the name of a
 * form and follow no redirects (RFC 8058 §3.2).
 */
export function unsubscribePage({ pool }: { readonly pool: Pool }): AnyPage {
  const stop = formAction({
    run: async ({ query }) => {
      await endSubscription(pool, (query as z.infer<typeof Query>).token)
      return { message: successMessage('You get no more emails of this kind.') }
    },
  })
  return page(UNSUBSCRIBE_PATH, {
    access: 'public',
    query: Query,
    actions: { stop, '': stop },
    render: async ({ query }) => {
      const topic = await findTopic(pool, query.token)
      const subject = topic && SUBJECTS[topic]
      return {
        title: 'Stop emails',
        main: html`<h1>${subject === undefined ? 'Emails' : `Emails about ${subject}`}</h1>${
          subject === undefined
            ? html`<p>This subscription has ended. Start a new one under
<a href="/account/notifications">Notifications</a>.</p>`
            : form({ act: 'stop', submit: `Stop emails about ${subject}` })
        }`,
      }
    },
  })
}

const Query = z.object({ token: z.uuid('is not the token of an email') })
