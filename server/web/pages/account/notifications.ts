import { z } from 'zod'
import { form } from '../../form.ts'
import { html } from '../../html.ts'
import { INCIDENT_FEED } from '../../incidents.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, page, requireSession } from '../../page.ts'

const PATH = '/account/notifications'

/** `/account/notifications`: what an account is told by email. */
export const notificationsPage = (): AnyPage =>
  page(PATH, {
    actions: {
      incidents: formAction({
        fields: z.object({ subscribed: z.enum(['yes', 'no']) }),
        run: async ({ api }, { subscribed }) => {
          await api('PUT /v1/account/incident-mail', { body: { subscribed: subscribed === 'yes' } })
          return { to: `${PATH}?done=${subscribed === 'yes' ? 'on' : 'off'}` }
        },
      }),
    },
    notices: { on: 'You get incidents by email.', off: 'You get no more incidents by email.' },
    render: async (request) => {
      const { email } = requireSession(request)
      const { subscribed } = await request.api<{ subscribed: boolean }>(
        'GET /v1/account/incident-mail',
      )
      return {
        title: 'Notifications',
        tabs: ACCOUNT_TABS,
        main: html`<h1>Notifications</h1><h2>Incidents</h2><p>${
          email === null
            ? 'Emails about incidents need an account with an email address.'
            : html`Reports of incidents and their updates ${subscribed ? 'go' : 'can go'} to
<strong>${email}</strong>.`
        }
The <a href="/status">status page</a> and its <a href="${INCIDENT_FEED}">RSS feed</a> show
${email === null ? 'them' : 'the same'}.</p>${
          email !== null &&
          form({
            act: 'incidents',
            submit: subscribed ? 'Stop emails about incidents' : 'Send me incidents by email',
            hidden: { subscribed: subscribed ? 'no' : 'yes' },
            ...(subscribed && { kind: 'plain' as const }),
          })
        }<h2>Other events</h2><p>Low balance, refunds, payouts and listings:
<a href="/account/webhooks">webhooks</a> tell your own server.</p>`,
      }
    },
  })
