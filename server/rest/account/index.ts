import { getAddress } from 'viem'
import { z } from 'zod'
import type { MagicLinks } from '../../../core/identity/magic-link.ts'
import { LINK_SECONDS } from '../../../core/identity/magic-link.ts'
import {
  askToLink,
  linkedWallets,
  linkWallet,
  memberSince,
  unlinkWallet,
} from '../../../core/identity/people.ts'
import { networkOf } from '../../../core/usage/network.ts'
import { type AnyRoute, parse, route, sessionOf } from '../route.ts'
import { sessionCookie } from '../visitor.ts'
import {
  ChallengeBody,
  nonce,
  type SigningPorts,
  showChallenge,
  signature,
  signedFaults,
  walletAddress,
} from './registration.ts'

/** One address: nothing in it that a mail program could read as the border to a second one. */
const email = z
  .email()
  .max(254)
  .regex(/^[^\s,;<>()"\\]+$/, 'not one address')
  .transform((text) => text.toLowerCase())

const token = z.string().regex(/^[\w-]{43}$/, 'not the token of a link')

const Asked = z.object({ expires_in_seconds: z.int() })
const SignedIn = z.object({ session_id: z.string() })
const Account = z.object({
  account_id: z.string(),
  email: z.string(),
  created_at: z.iso.datetime(),
  session_id: z.string(),
  wallets: z.array(z.object({ wallet_address: z.string(), linked_at: z.iso.datetime() })),
})
export type AccountJson = z.infer<typeof Account>
const Linked = z.object({ wallet_address: z.string() })

export interface AccountPorts extends SigningPorts {
  readonly links: MagicLinks
}

/** People: sign-up and sign-in by mail, the account, and the wallets that are linked to it. */
export const accountRoutes = (ports: AccountPorts): readonly AnyRoute[] => [
  ...signInRoutes(ports),
  ...ownRoutes(ports),
  ...walletRoutes(ports),
]

const signInRoutes = ({ links, site }: AccountPorts): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/account/sign-in',
    summary: 'Mails you a link by which you sign up, or in; the answer is the same for everybody.',
    auth: 'none',
    form: true,
    body: z.strictObject({ email }),
    answer: { status: 202, schema: Asked },
    faults: ['rate_limited', 'origin_not_allowed'],
    handle: async ({ body, ip }) => {
      await links.request(body.email, networkOf(ip))
      return { status: 202, body: { expires_in_seconds: LINK_SECONDS } }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/account/confirm',
    summary: 'Signs you in by the token of the link, once: the answer sets the session cookie.',
    auth: 'none',
    form: true,
    body: z.strictObject({ token }),
    answer: { status: 201, schema: SignedIn },
    faults: ['link_unknown', 'link_used', 'link_expired', 'origin_not_allowed'],
    handle: async ({ body, ip, header }) => {
      const place = { agent: header('user-agent') ?? '', network: networkOf(ip) }
      const opened = await links.confirm(body.token, place)
      const headers = { 'Set-Cookie': sessionCookie(site.origin(), opened.token) }
      return { status: 201, headers, body: { session_id: opened.id } }
    },
  }),
]

const ownRoutes = ({ pool }: AccountPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/account',
    summary: 'Who is signed in, and the wallets that are linked to the account.',
    auth: 'session',
    answer: { status: 200, schema: Account },
    handle: async (request) => {
      const session = sessionOf(request)
      const wallets = await linkedWallets(pool, session)
      return {
        body: {
          account_id: session.person,
          email: session.email,
          created_at: (await memberSince(pool, session)).toISOString(),
          session_id: session.id,
          wallets: wallets.map(({ wallet, linked_at }) => ({
            wallet_address: getAddress(wallet),
            linked_at: linked_at.toISOString(),
          })),
        },
      }
    },
  }),
]

const walletRoutes = ({ pool, site, contracts }: AccountPorts): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/account/wallets/challenge',
    summary: 'The message by which a wallet lets this account manage its keys.',
    auth: 'session',
    body: z.strictObject({ wallet_address: walletAddress }),
    answer: { status: 201, schema: ChallengeBody },
    handle: async (request) => {
      const { wallet_address: wallet } = request.body
      const challenge = await askToLink(pool, site, sessionOf(request), wallet)
      return { status: 201, body: showChallenge(challenge) }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/account/wallets',
    summary: 'Links a wallet by its signature; its keys stay as they are.',
    auth: 'session',
    body: z.strictObject({ nonce, signature }),
    answer: { status: 201, schema: Linked },
    faults: [...signedFaults(contracts), 'nonce_used'],
    handle: async (request) => {
      const wallet = await linkWallet(pool, sessionOf(request), request.body, contracts)
      return { status: 201, body: { wallet_address: getAddress(wallet) } }
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/account/wallets/{address}',
    summary: 'Lets a wallet go: its keys work on, and this account no longer sees them.',
    auth: 'session',
    answer: { status: 200, schema: Linked },
    faults: ['not_found', 'validation_failed'],
    handle: async (request) => {
      const wallet = parse(walletAddress, request.params['address'])
      await unlinkWallet(pool, sessionOf(request), wallet)
      return { body: { wallet_address: getAddress(wallet) } }
    },
  }),
]
