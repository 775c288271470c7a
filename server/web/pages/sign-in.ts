import { z } from 'zod'
import type { MagicLinks } from '../../../core/identity/magic-link.ts'
import { LINK_SECONDS } from '../../../core/identity/magic-link.ts'
import { networkOf } from '../../../core/usage/network.ts'
import { sessionCookie } from '../../rest/visitor.ts'
import { fieldsOf, form } from '../form.ts'
import { html } from '../html.ts'
import { type AnyPage, act, page } from '../page.ts'
import { SIGN_IN } from '../serve-page.ts'

/** Where the link of a mail leads. */
export const CONFIRM_PATH = '/sign-in/confirm'

const token = z.string().regex(/^[\w-]{43}$/, 'not the token of a link')

export interface SignInPorts {
  readonly site: { readonly sandbox: boolean }
  readonly baseUrl: () => string
  /** Undefined: this hub sends no mails. */
  readonly links: MagicLinks | undefined
}

/** Where people sign up, and in: by a link that a mail brings. */
export const signInPages = (ports: SignInPorts): readonly AnyPage[] =>
  ports.links ? [askPage(ports), confirmPage(ports, ports.links)] : [withoutMails()]

const MINUTES = LINK_SECONDS / 60

/** `/sign-in`: an address, to which a link is sent. Everybody gets the same answer. */
const askPage = ({ site }: SignInPorts): AnyPage =>
  page({
    path: SIGN_IN,
    query: z.object({}),
    acts: {
      ask: act({
        fields: z.object({ email: z.string().trim() }),
        run: async ({ ask }, body) => {
          await ask('POST /v1/account/sign-in', { body })
          return { to: `${SIGN_IN}?done=sent` }
        },
      }),
    },
    done: {
      sent: html`<strong>Look into your mail.</strong> The link in it signs you in; it works once,
for ${MINUTES} minutes. Nothing came? Look into the spam folder, or ask again below.`,
    },
    show: async ({ session, sent }) => {
      if (session) return { to: '/account' }
      const fields = fieldsOf('ask', sent)
      return {
        title: 'Sign in',
        section: 'Account',
        main: html`<h1>Sign in, or sign up</h1><p class="lead">We mail you a link; there is no
password. The first link opens your account.</p>${form({
          act: 'ask',
          submit: 'Mail me a link',
          fields: [
            fields.text({
              name: 'email',
              label: 'Your e-mail address',
              type: 'email',
              required: true,
              max: 254,
              autocomplete: 'email',
            }),
          ],
        })}${
          site.sandbox &&
          html`<p class="small muted">This sandbox sends no mail: it prints the link where it runs,
and keeps it in the folder <code>outbox</code> of its data.</p>`
        }<p class="small muted">Agents need no account: a wallet registers by a signature,
<code>npx agenthub register</code>. An account can manage the keys of such wallets too.</p>`,
      }
    },
  })

/** `/sign-in/confirm`: asks for a click, since programs that look through mails press no button. */
const confirmPage = ({ baseUrl }: SignInPorts, links: MagicLinks): AnyPage =>
  page({
    path: CONFIRM_PATH,
    query: z.object({ token }),
    acts: {
      confirm: act({
        fields: z.object({ token }),
        run: async ({ ip, agent }, fields) => {
          const opened = await links.confirm(fields.token, { agent, network: networkOf(ip) })
          return {
            to: '/account',
            headers: { 'Set-Cookie': sessionCookie(baseUrl(), opened.token) },
          }
        },
      }),
    },
    show: async ({ query }) => {
      const { email } = await links.look(query.token)
      return {
        title: 'Sign in',
        section: 'Account',
        main: html`<h1>Sign in to AgentHub</h1>
<p class="lead">You are about to sign in as <strong>${email}</strong>.</p>${form({
          act: 'confirm',
          submit: 'Sign in',
          hidden: { token: query.token },
        })}`,
      }
    },
  })

const withoutMails = (): AnyPage =>
  page({
    path: SIGN_IN,
    own: true,
    query: z.object({}),
    show: async () => ({
      title: 'Sign in',
      section: 'Account',
      main: html`<h1>Sign in</h1><p class="lead">This hub sends no mails, so that nobody can sign in
here. Keys work without: a wallet registers by a signature, <code>npx agenthub register</code>.
</p>`,
    }),
  })
