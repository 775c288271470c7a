import { getAddress } from 'viem'
import { z } from 'zod'
import { findKnownDevice } from '../../../core/identity/devices.ts'
import type { MagicLinks } from '../../../core/identity/magic-link.ts'
import { LINK_SECONDS } from '../../../core/identity/magic-link.ts'
import {
  createLinkChallenge,
  findMemberSince,
  linkWallet,
  listLinkedWallets,
  unlinkWallet,
} from '../../../core/identity/people.ts'
import { networkPrefix } from '../../../core/usage/network.ts'
import { readBrowserTokens, signInCookies } from '../device-cookie.ts'
import { type AnyRoute, parse, route, sessionOf } from '../route.ts'
import {
  ChallengeView,
  nonce,
  type SigningDeps,
  showChallenge,
  signature,
  signatureFaults,
  walletAddress,
} from './registration.ts'

/** Single address, without characters that a mail program could read as a separator. */
const email = z
  .email()
  .max(254)
  .regex(/^[^\s,;<>()"\\]+$/, 'must be a single email address')
  .transform((text) => text.toLowerCase())

const token = z.string().regex(/^[\w-]{43}$/, 'must be the token of a sign-in link')

const LinkSent = z.object({ expires_in_seconds: z.int() })
const OpenedSession = z.object({ session_id: z.string() })
const Account = z.object({
  account_id: z.string(),
  email: z.string(),
  created_at: z.iso.datetime(),
  session_id: z.string(),
  wallets: z.array(z.object({ wallet_address: z.string(), linked_at: z.iso.datetime() })),
})
export type AccountJson = z.infer<typeof Account>
const LinkedWallet = z.object({ wallet_address: z.string() })

export interface EmailAccountDeps extends SigningDeps {
  readonly links: MagicLinks
}

/** Accounts of people: sign-up and sign-in by email, and linked wallets. */
export const emailAccountRoutes = (deps: EmailAccountDeps): readonly AnyRoute[] => [
  ...signInRoutes(deps),
  ...accountRoutes(deps),
  ...linkedWalletRoutes(deps),
]

const signInRoutes = ({ pool, links, site }: EmailAccountDeps): readonly AnyRoute[] => [
  route('POST /v1/account/sign-in', {
    summary: 'Emails a sign-up or sign-in link. The response is the same for every address.',
    auth: 'none',
    acceptsForm: true,
    body: z.strictObject({ email }),
    repeatable: true, // another mail
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
      const place = { agent: header('user-agent') ?? '', network: networkPrefix(ip) }
      const opened = await links.confirm(body.token, place)
      const headers = { 'Set-Cookie': signInCookies(site.origin(), opened) }
      return { status: 201, headers, body: { session_id: opened.id } }
    },
  }),
]

const accountRoutes = ({ pool }: EmailAccountDeps): readonly AnyRoute[] => [
  route('GET /v1/account', {
    summary: 'Returns the signed-in account and its linked wallets.',
    auth: 'session',
    response: { status: 200, schema: Account },
    handle: async (request) => {
      const session = sessionOf(request)
      const wallets = await listLinkedWallets(pool, session)
      return {
        body: {
          account_id: session.person,
          email: session.email,
          created_at: (await findMemberSince(pool, session)).toISOString(),
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

const linkedWalletRoutes = ({ pool, site, contracts }: EmailAccountDeps): readonly AnyRoute[] => [
  route('POST /v1/account/wallets/challenge', {
    summary: 'Creates the message that a wallet signs to let this account manage its keys.',
    auth: 'session',
    body: z.strictObject({ wallet_address: walletAddress }),
    repeatable: true,
    response: { status: 201, schema: ChallengeView },
    handle: async (request) => {
      const { wallet_address: wallet } = request.body
      const challenge = await createLinkChallenge(pool, site, sessionOf(request), wallet)
      return { status: 201, body: showChallenge(challenge) }
    },
  }),
  route('POST /v1/account/wallets', {
    summary: 'Links a wallet by its signature. Its keys do not change.',
    auth: 'session',
    body: z.strictObject({ nonce, signature }),
    response: { status: 201, schema: LinkedWallet },
    faults: [...signatureFaults(contracts), 'nonce_used'],
    handle: async (request) => {
      const wallet = await linkWallet(pool, sessionOf(request), request.body, contracts)
      return { status: 201, body: { wallet_address: getAddress(wallet) } }
    },
  }),
  route('DELETE /v1/account/wallets/{address}', {
    summary: 'Unlinks a wallet. Its keys keep working, but this account no longer manages them.',
    auth: 'session',
    response: { status: 200, schema: LinkedWallet },
    faults: ['not_found', 'validation_failed'],
    handle: async (request) => {
      const wallet = parse(walletAddress, request.params.address, 'wallet address')
      await unlinkWallet(pool, sessionOf(request), wallet)
      return { body: { wallet_address: getAddress(wallet) } }
    },
  }),
]
