import { getAddress } from 'viem'
import { z } from 'zod'
import {
  createLinkChallenge,
  findMemberSince,
  linkWallet,
  listLinkedWallets,
  unlinkWallet,
} from '../../../core/identity/people.ts'
import { type AnyRoute, parse, route, sessionOf } from '../route.ts'
import {
  ChallengeView,
  SignedChallenge,
  type SigningDeps,
  showChallenge,
  signatureFaults,
  walletAddress,
} from './registration.ts'

const Account = z.object({
  account_id: z.string(),
  email: z.string().nullable(),
  wallet_address: z.string().nullable().meta({ description: 'Wallet that signed in by itself.' }),
  created_at: z.iso.datetime(),
  session_id: z.string(),
  wallets: z.array(z.object({ wallet_address: z.string(), linked_at: z.iso.datetime() })),
})
export type AccountJson = z.infer<typeof Account>
const LinkedWallet = z.object({ wallet_address: z.string() })

/** Account of a session, and the wallets that are linked to it. */
export const accountRoutes = (deps: SigningDeps): readonly AnyRoute[] => [
  showAccount(deps),
  ...linkedWalletRoutes(deps),
]

const showAccount = ({ pool }: SigningDeps): AnyRoute =>
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
          wallet_address: session.email === null ? getAddress(session.name) : null,
          created_at: (await findMemberSince(pool, session)).toISOString(),
          session_id: session.id,
          wallets: wallets.map(({ wallet, linked_at }) => ({
            wallet_address: getAddress(wallet),
            linked_at: linked_at.toISOString(),
          })),
        },
      }
    },
  })

const linkedWalletRoutes = ({ pool, site, contracts }: SigningDeps): readonly AnyRoute[] => [
  route('POST /v1/account/wallets/challenge', {
    summary: 'Creates the message that a wallet signs to let this account manage its keys.',
    auth: 'session',
    body: z.strictObject({ wallet_address: walletAddress }),
    repeatable: true,
    response: { status: 201, schema: ChallengeView },
    faults: ['email_account_required'],
    handle: async (request) => {
      const { wallet_address: wallet } = request.body
      const challenge = await createLinkChallenge(pool, site, sessionOf(request), wallet)
      return { status: 201, body: showChallenge(challenge) }
    },
  }),
  route('POST /v1/account/wallets', {
    summary: 'Links a wallet by its signature. Its keys do not change.',
    auth: 'session',
    body: SignedChallenge,
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
