import { z } from 'zod'
import { findKnownDevice } from '../../../core/identity/devices.ts'
import { LINK_SECONDS, type MagicLinks } from '../../../core/identity/magic-link.ts'
import type { Session } from '../../../core/identity/sessions.ts'
import { createSignInChallenge, signInWallet } from '../../../core/identity/wallet-sign-in.ts'
import { networkPrefix } from '../../../core/usage/network.ts'
import { sessionCookie } from '../authentication.ts'
import { readBrowserTokens, signInCookies } from '../device-cookie.ts'
import { type AnyRoute, route } from '../route.ts'
import {
  ChallengeView,
  SignedChallenge,
  type SigningDeps,
  showChallenge,
  signatureFaults,
  walletAddress,
} from './registration.ts'

/** Single address: `z.email` allows no character that a mail program could read as a separator. */
const email = z
  .email()
  .max(254)
  .transform((text) => text.toLowerCase())

const token = z.string().regex(/^[\w-]{43}$/, 'must be the token of a sign-in link')

const LinkSent = z.object({ expires_in_seconds: z.int() })
const OpenedSession = z.object({ session_id: z.string() })

export interface SignInDeps extends SigningDeps {
  /** Undefined if this hub sends no email. */
  readonly links: MagicLinks | undefined
}

/** Sign-up and sign-in, by a link sent by email or by the signature of a wallet. */
export const signInRoutes = (deps: SignInDeps): readonly AnyRoute[] => [
  ...(deps.links ? emailRoutes(deps, deps.links) : []),
  ...walletRoutes(deps),
]

const emailRoutes = ({ pool, site }: SigningDeps, links: MagicLinks): readonly AnyRoute[] => [
  route('POST /v1/account/sign-in', {
    summary: 'Emails a sign-up or sign-in link. The response is the same for every address.',
    auth: 'none',
    acceptsForm: true,
    body: z.strictObject({ email }),
    repeatable: true, // sends another email
    response: { status: 202, schema: LinkSent },
    faults: ['rate_limited', 'origin_not_allowed'],
    handle: async ({ body, ip, header }) => {
      const tokens = readBrowserTokens(header('cookie'), site.origin())
      const device = await findKnownDevice(pool, tokens, body.email)
      await links.request(body.email, networkPrefix(ip), device)
      return { status: 202, body: { expires_in_seconds: LINK_SECONDS } }
    },
  }),
  route('POST /v1/account/confirm', {
    summary: 'Signs you in with the single-use token of the link and sets the session cookie.',
    auth: 'none',
    acceptsForm: true,
    body: z.strictObject({ token }),
    response: { status: 201, schema: OpenedSession },
    faults: ['link_unknown', 'link_used', 'link_expired', 'origin_not_allowed'],
    handle: async ({ body, ip, header }) => {
      const origin = { agent: header('user-agent') ?? '', network: networkPrefix(ip) }
      const opened = await links.confirm(body.token, origin)
      const headers = { 'Set-Cookie': signInCookies(site.origin(), opened) }
      return { status: 201, headers, body: { session_id: opened.id } }
    },
  }),
]

const walletRoutes = ({ pool, limits, site, contracts }: SigningDeps): readonly AnyRoute[] => [
  route('POST /v1/account/wallet-sign-in/challenge', {
    summary: 'Creates the message that a wallet signs to sign in.',
    auth: 'none',
    acceptsForm: true,
    body: z.strictObject({ wallet_address: walletAddress }),
    repeatable: true,
    response: { status: 201, schema: ChallengeView },
    faults: ['rate_limited', 'origin_not_allowed'],
    handle: async ({ body }) => {
      const challenge = await createSignInChallenge(pool, site, body.wallet_address)
      return { status: 201, body: showChallenge(challenge) }
    },
  }),
  route('POST /v1/account/wallet-sign-in', {
    summary: 'Signs a wallet in by its signature and sets the session cookie.',
    auth: 'none',
    acceptsForm: true,
    unlimited: true,
    body: SignedChallenge,
    response: { status: 201, schema: OpenedSession },
    faults: [
      ...signatureFaults(contracts),
      'nonce_used',
      'registration_rate_limited',
      'origin_not_allowed',
    ],
    handle: async ({ body, ip, header }) => {
      const deps = { pool, limits, contracts, baseUrl: site.origin }
      const agent = header('user-agent') ?? ''
      const { id, headers } = await openWalletSession(deps, body, { ip, agent })
      return { status: 201, headers, body: { session_id: id } }
    },
  }),
]

interface WalletSignInDeps extends Pick<SigningDeps, 'pool' | 'contracts'> {
  readonly limits: Pick<SigningDeps['limits'], 'registration'>
  readonly baseUrl: () => string
}

/**
 * Signs a wallet in, within the registrations of its network. Returns the session and the headers
 * that set its cookie.
 * @param session of the browser, which ends if it is of the same wallet
 * @throws Fault `registration_rate_limited`, and those of `signInWallet`
 */
export async function openWalletSession(
  { pool, contracts, limits, baseUrl }: WalletSignInDeps,
  signed: z.output<typeof SignedChallenge>,
  { ip, agent, session }: { ip: string; agent: string; session?: Session | undefined },
) {
  const { headers } = await limits.registration(ip)
  const origin = { agent, network: networkPrefix(ip) }
  const { id, token } = await signInWallet({ pool, contracts }, signed, origin, session)
  return { id, headers: { ...headers, 'Set-Cookie': sessionCookie(baseUrl(), token) } }
}
