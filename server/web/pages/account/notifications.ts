import { z } from 'zod'
import type { MailTopic } from '../../../../core/mail/subscriptions.ts'
import { LOW_BALANCE_THRESHOLD } from '../../../../core/usage/low-balance.ts'
import { form } from '../../form.ts'
import { formatDollars } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { INCIDENT_FEED } from '../../incidents.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, page, requireSession } from '../../page.ts'

const PATH = '/account/notifications'

interface SubscriptionJson {
  readonly subscribed: boolean
}

/** Form action that starts or ends emails about a topic. @param route path of the subscription */
const subscription = (topic: MailTopic, route: string) =>
  formAction({
    fields: z.object({ subscribed: z.enum(['yes', 'no']) }),
    run: async ({ api }, { subscribed }) => {
      await api(`PUT ${route}`, { body: { subscribed: subscribed === 'yes' } })
      return { to: `${PATH}?done=${topic}-${subscribed === 'yes' ? 'on' : 'off'}` }
    },
  })

/** `/account/notifications`: what an account is told by email. */
export const notificationsPage = (): AnyPage =>
  page(PATH, {
    actions: {
      balance: subscription('balance', '/v1/account/balance-mail'),
      incidents: subscription('incidents', '/v1/account/incident-mail'),
    },
    notices: {
      'balance-on': 'You get low balances by email.',
      'balance-off': 'You get no more emails about low balances.',
      'incidents-on': 'You get incidents by email.',
      'incidents-off': 'You get no more incidents by email.',
    },
    render: async (request) => {
      const { email } = requireSession(request)
      const [balance, incidents] = await Promise.all([
        request.api<SubscriptionJson>('GET /v1/account/balance-mail'),
        request.api<SubscriptionJson>('GET /v1/account/incident-mail'),
      ])
      return {
        title: 'Notifications',
        tabs: ACCOUNT_TABS,
        main: html`<h1>Notifications</h1>${
          email === null
            ? html`<p class="lead">Emails need an account with an email address.</p>`
            : html`<p class="lead">Emails go to <strong>${email}</strong>.</p>`
        }<h2>Low balance</h2><p>Warns you when the credits of a main key fall below ${formatDollars(
          LOW_BALANCE_THRESHOLD,
        )}. The page of each <a href="/account/keys">key</a> can set another threshold.</p>${
          email !== null && switchForm('balance', balance, 'low balances')
        }<h2>Incidents</h2><p>Reports of incidents and their updates, as on the
<a href="/status">status page</a> and in its <a href="${INCIDENT_FEED}">RSS feed</a>.</p>${
          email !== null && switchForm('incidents', incidents, 'incidents')
        }<h2>Other events</h2><p>Refunds, payouts and listings, also low balances:
<a href="/account/webhooks">webhooks</a> tell your own server.</p>`,
      }
    },
  })

/** Button that starts or ends emails about a topic. */
const switchForm = (act: MailTopic, { subscribed }: SubscriptionJson, subject: string): Html =>
  form({
    act,
    submit: subscribed ? `Stop emails about ${subject}` : `Send me emails about ${subject}`,
    hidden: { subscribed: subscribed ? 'no' : 'yes' },
    ...(subscribed && { kind: 'plain' as const }),
  })
