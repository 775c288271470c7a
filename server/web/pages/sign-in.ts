import { z } from 'zod'
import type { MagicLinks } from '../../../core/identity/magic-link.ts'
import { LINK_SECONDS } from '../../../core/identity/magic-link.ts'
import { networkPrefix } from '../../../core/usage/network.ts'
import { signInCookies } from '../../rest/device-cookie.ts'
import { form, formFields } from '../form.ts'
import { html } from '../html.ts'
import type { Site } from '../layout.ts'
import { successMessage } from '../messages.ts'
import { type AnyPage, formAction, page, requireSession } from '../page.ts'
import { SIGN_IN, SIGN_IN_AGAIN } from '../page-router.ts'

/** Target of the sign-in link. */
export const CONFIRM_PATH = '/sign-in/confirm'

const token = z.string().regex(/^[\w-]{43}$/, 'is not a sign-in token')

export interface SignInDeps {
  readonly site: Site
  readonly baseUrl: () => string
  readonly command: () => string
  /** Undefined if this hub sends no email. */
  readonly links: MagicLinks | undefined
}

/** Pages to sign up and sign in with a link sent by email. */
export const signInPages = (deps: SignInDeps): readonly AnyPage[] =>
  deps.links
    ? [requestPage(deps), againPage(deps), confirmPage(deps, deps.links)]
    : [noEmailPage(deps)]

const MINUTES = LINK_SECONDS / 60

/** `/sign-in`: requests a link. The response does not reveal whether the account exists. */
const requestPage = ({ site, command }: SignInDeps): AnyPage =>
  page(SIGN_IN, {
    access: 'public',
    actions: {
      ask: formAction({
        fields: z.object({ email: z.string().trim() }),
        run: async ({ api }, body) => {
          await api('POST /v1/account/sign-in', { body })
          return {
            message: successMessage(html`<strong>Check your email.</strong> We sent a sign-in link
to <strong>${body.email}</strong>. It works once and expires in ${MINUTES} minutes. No email? Check
the address and your spam folder, then send it again.`),
          }
        },
      }),
    },
    render: async ({ session, submission }) => {
      if (session) return { to: '/account' }
      const fields = formFields('ask', submission)
      const isSent = submission !== undefined && submission.message === ''
      return {
        title: 'Sign in',
        section: 'Account',
        main: html`<h1>Sign in or sign up</h1><p class="lead">We email you a sign-in link, no
password needed. Your first link creates your account.</p>${form({
          act: 'ask',
          submit: isSent ? 'Send it again' : 'Email me a link',
          ...(isSent && { kind: 'plain' }),
          fields: [
            fields.text({
              name: 'email',
              label: 'Your email address',
              type: 'email',
              required: true,
              max: 254,
              autocomplete: 'email',
            }),
          ],
        })}${sandboxNote(
          site,
        )}<p class="small muted">Agents need no account: they register with a wallet,
<code>${command()} register</code>. You can link such wallets to your account.</p>`,
      }
    },
  })

const sandboxNote = ({ sandbox }: SignInDeps['site']) =>
  sandbox &&
  html`<p class="small muted">This sandbox sends no email. It prints the link to its console
and stores it in the <code>outbox</code> folder of its data.</p>`

/** `/sign-in/again`: requests a link to the account, before an act of staff. */
const againPage = ({ site }: SignInDeps): AnyPage =>
  page(SIGN_IN_AGAIN, {
    actions: {
      ask: formAction({
        run: async ({ api, session }) => {
          const { email } = requireSession({ session })
          await api('POST /v1/account/sign-in', { body: { email } })
          return { to: `${SIGN_IN_AGAIN}?done=sent` }
        },
      }),
    },
    notices: {
      sent: html`<strong>Check your email.</strong> Open the link in this browser: it works once and
expires in ${MINUTES} minutes. You then return to your form.`,
    },
    render: async ({ session, returnTo }) => ({
      title: 'Sign in again',
      section: 'Account',
      main: html`<h1>Sign in again</h1><p class="lead">To protect money and roles, changes by staff
need a recent sign-in. Nothing was changed yet.</p>${
        returnTo !== undefined &&
        html`<p>What you typed on <code>${returnTo.split('?')[0]}</code> is kept for half an
hour.</p>`
      }<p>We email a sign-in link to <strong>${requireSession({ session }).email}</strong>.
</p>${form({ act: 'ask', submit: 'Email me a link' })}${sandboxNote(site)}`,
    }),
  })

/** `/sign-in/confirm`: requires a click, because email scanners open links but press no button. */
const confirmPage = ({ baseUrl }: SignInDeps, links: MagicLinks): AnyPage =>
  page(CONFIRM_PATH, {
    access: 'public',
    query: z.object({ token }),
    actions: {
      confirm: formAction({
        fields: z.object({ token }),
        run: async ({ ip, agent, session, returnTo }, fields) => {
          const origin = { agent, network: networkPrefix(ip) }
          const opened = await links.confirm(fields.token, origin, session)
          return {
            to: returnTo ?? '/account',
            headers: { 'Set-Cookie': signInCookies(baseUrl(), opened) },
          }
        },
      }),
    },
    render: async ({ query, ip }) => {
      const { email } = await links.inspect(query.token, networkPrefix(ip))
      return {
        title: 'Sign in',
        section: 'Account',
        main: html`<h1>Sign in to AgentHub</h1>
<p class="lead">You are signing in as <strong>${email}</strong>.</p>${form({
          act: 'confirm',
          submit: 'Sign in',
          hidden: { token: query.token },
        })}`,
      }
    },
  })

const noEmailPage = ({ command }: SignInDeps): AnyPage =>
  page(SIGN_IN, {
    access: 'personal',
    render: async () => ({
      title: 'Sign in',
      section: 'Account',
      main: html`<h1>Sign in</h1><p class="lead">Signing in is not available: this hub does not send
email. To get a key, register with a wallet: <code>${command()} register</code>.
</p>`,
    }),
  })
