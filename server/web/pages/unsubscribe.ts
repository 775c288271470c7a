import type { Pool } from 'pg'
import { z } from 'zod'
import {
  endSubscription,
  hasSubscription,
  UNSUBSCRIBE_PATH,
} from '../../../core/catalog/services/incident-mail.ts'
import { form } from '../form.ts'
import { html } from '../html.ts'
import { successMessage } from '../messages.ts'
import { type AnyPage, formAction, page } from '../page.ts'

/**
 * `/unsubscribe`: ends emails about incidents by the link in one, without a session. Opening it
 * changes nothing, because mail scanners follow links. Mail programs post without the name of a
 * form and follow no redirects (RFC 8058 §3.2).
 */
export function unsubscribePage({ pool }: { readonly pool: Pool }): AnyPage {
  const stop = formAction({
    run: async ({ query }) => {
      await endSubscription(pool, (query as z.infer<typeof Query>).token)
      return { message: successMessage('You get no more emails about incidents.') }
    },
  })
  return page(UNSUBSCRIBE_PATH, {
    access: 'public',
    query: Query,
    actions: { stop, '': stop },
    render: async ({ query }) => {
      const isOn = await hasSubscription(pool, query.token)
      return {
        title: 'Stop emails',
        main: html`<h1>Emails about incidents</h1>${
          isOn
            ? form({ act: 'stop', submit: 'Stop emails about incidents' })
            : html`<p>This subscription has ended. Start a new one under
<a href="/account/notifications">Notifications</a>.</p>`
        }`,
      }
    },
  })
}

const Query = z.object({ token: z.uuid('is not the token of an email') })
