import { z } from 'zod'
import type { MagicLinks } from '../../../core/identity/magic-link.ts'
import { LINK_SECONDS } from '../../../core/identity/magic-link.ts'
import { requireEmail } from '../../../core/identity/people.ts'
import type { Session } from '../../../core/identity/sessions.ts'
import { networkPrefix } from '../../../core/usage/network.ts'
import { signInCookies } from '../../rest/device-cookie.ts'
import { WALLET_SCRIPT } from '../assets.ts'
import { form, formFields } from '../form.ts'
import { type Html, html } from '../html.ts'
import type { Site } from '../layout.ts'
import { successMessage } from '../messages.ts'
import { type AnyPage, formAction, page, requireSession, type Submission } from '../page.ts'
import { SIGN_IN, SIGN_IN_AGAIN } from '../page-router.ts'
import { walletAddressForm } from '../wallet-signature.ts'
import {
  challengeQuery,
  type WalletSignInDeps,
  walletSignInActions,
  walletSignInForm,
} from './wallet-sign-in.ts'

/** Target of the sign-in link. */
export const CONFIRM_PATH = '/sign-in/confirm'

const token = z.string().regex(/^[\w-]{43}$/, 'is not a sign-in token')

export interface SignInDeps extends WalletSignInDeps {
  readonly site: Site
  readonly command: () => string
  /** Undefined if this hub sends no email. */
  readonly links: MagicLinks | undefined
}

/** Pages to sign up and sign in with a link sent by email, or with a wallet. */
export const signInPages = (deps: SignInDeps): readonly AnyPage[] => [
  signInPage(deps),
  againPage(deps),
  ...(deps.links ? [confirmPage(deps, deps.links)] : []),
]

const MINUTES = LINK_SECONDS / 60

const askForLink = formAction({
  fields: z.object({ email: z.string().trim() }),
  run: async ({ api }, body) => {
    await api('POST /v1/account/sign-in', { body })
    return {
      message: successMessage(html`<strong>Check your email.</strong> We sent a sign-in link
to <strong>${body.email}</strong>. It works once and expires in ${MINUTES} minutes. No email? Check
the address and your spam folder, then send it again.`),
    }
  },
})

/** `/sign-in`: by email or wallet. The response does not reveal whether the account exists. */
const signInPage = (deps: SignInDeps): AnyPage =>
  page(SIGN_IN, {
    access: 'public',
    query: challengeQuery,
    actions: { ...(deps.links && { ask: askForLink }), ...walletSignInActions(deps, SIGN_IN) },
    render: async ({ session, submission, query }) => {
      if (session) return { to: '/account' }
      return {
        title: 'Sign in',
        section: 'Account',
        scripts: [WALLET_SCRIPT],
        main: html`<h1>Sign in or sign up</h1>${
          query.nonce === undefined
            ? [deps.links && emailPart(deps.site, submission), walletPart(deps, submission)]
            : await walletSignInForm(deps.pool, query.nonce, submission)
        }`,
      }
    },
  })

function emailPart(site: Site, submission: Submission | undefined): Html {
  const isSent = submission?.act === 'ask' && submission.message === ''
  return html`<p class="lead">We email you a sign-in link, no password needed. Your first link
creates your account.</p>${form({
    act: 'ask',
    submit: isSent ? 'Send it again' : 'Email me a link',
    ...(isSent && { kind: 'plain' }),
    fields: [
      formFields('ask', submission).text({
        name: 'email',
        label: 'Your email address',
        type: 'email',
        required: true,
        max: 254,
        autocomplete: 'email',
      }),
    ],
  })}${sandboxNote(site)}`
}

const walletPart = ({ command }: SignInDeps, submission: Submission | undefined): Html =>
  html`<h2>With a wallet</h2><p>Your wallet signs a message, which costs nothing. You manage the
keys and APIs of this wallet, without an email address.
</p>${walletAddressForm(submission, 'wallet')}
<p class="small muted">Agents register by themselves: <code>${command()} register</code>. An
account with an email address can link such wallets.</p>`

const sandboxNote = ({ sandbox }: SignInDeps['site']) =>
  sandbox &&
  html`<p class="small muted">This sandbox sends no email. It prints the link to its console
and stores it in the <code>outbox</code> folder of its data.</p>`

/** `/sign-in/again`: the same person or wallet signs in, before an act of staff. */
const againPage = (deps: SignInDeps): AnyPage =>
  page(SIGN_IN_AGAIN, {
    query: challengeQuery,
    actions: {
      ask: formAction({
        run: async ({ api, session }) => {
          const email = requireEmail(requireSession({ session }))
          await api('POST /v1/account/sign-in', { body: { email } })
          return { to: `${SIGN_IN_AGAIN}?done=sent` }
        },
      }),
      ...walletSignInActions(deps, SIGN_IN_AGAIN),
    },
    notices: {
      sent: html`<strong>Check your email.</strong> Open the link in this browser: it works once and
expires in ${MINUTES} minutes. You then return to your form.`,
    },
    render: async ({ session, returnTo, query, submission }) => ({
      title: 'Sign in again',
      section: 'Account',
      scripts: [WALLET_SCRIPT],
      main: html`<h1>Sign in again</h1><p class="lead">To protect money and roles, changes by staff
need a recent sign-in. Nothing was changed yet.</p>${
        returnTo !== undefined &&
        html`<p>What you typed on <code>${returnTo.split('?')[0]}</code> is kept for half an
hour.</p>`
      }${
        query.nonce === undefined
          ? againForm(deps, requireSession({ session }))
          : await walletSignInForm(deps.pool, query.nonce, submission)
      }`,
    }),
  })

const againForm = ({ site }: SignInDeps, { email, name }: Session): Html =>
  email === null
    ? html`<p>Your wallet <strong>${name}</strong> signs a message.</p>${form({
        act: 'wallet',
        submit: 'Show message',
        hidden: { wallet_address: name },
      })}`
    : html`<p>We email a sign-in link to <strong>${email}</strong>.
</p>${form({ act: 'ask', submit: 'Email me a link' })}${sandboxNote(site)}`

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
