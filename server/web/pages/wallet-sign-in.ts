import type { Pool } from 'pg'
import { z } from 'zod'
import { readUsableChallenge } from '../../../core/identity/challenge.ts'
import type { ContractVerifier } from '../../../core/identity/wallet-signature.ts'
import { nonce, signature } from '../../rest/account/registration.ts'
import { openWalletSession } from '../../rest/account/sign-in.ts'
import { type Html, html } from '../html.ts'
import { type FormAction, formAction, type Submission } from '../page.ts'
import type { PageRouterDeps } from '../page-router.ts'
import { challengeAction, signatureForm } from '../wallet-signature.ts'

export interface WalletSignInDeps extends Pick<PageRouterDeps, 'limits'> {
  readonly pool: Pool
  /** Verifies signatures of contract wallets; if undefined, these are rejected. */
  readonly contracts: ContractVerifier | undefined
  readonly baseUrl: () => string
}

/** Query of a page on which a wallet signs in: the challenge that it is to sign. */
export const challengeQuery = z.object({ nonce: nonce.optional() })

/** Actions of a page on which a wallet signs in. */
export const walletSignInActions = (
  deps: WalletSignInDeps,
  path: string,
): Readonly<Record<'wallet' | 'sign', FormAction>> => ({
  wallet: challengeAction(path, 'POST /v1/account/wallet-sign-in/challenge'),
  sign: formAction({
    fields: z.object({ nonce, signature: z.string().trim().pipe(signature) }),
    run: async ({ ip, agent, session, returnTo }, signed) => {
      const { headers } = await openWalletSession(deps, signed, { ip, agent, session })
      return { to: returnTo ?? '/account', headers }
    },
  }),
})

/**
 * Form for the signature of a challenge.
 * @throws Fault `nonce_unknown`, `nonce_used`, `nonce_expired`
 */
export async function walletSignInForm(
  pool: Pool,
  pending: string,
  submission: Submission | undefined,
): Promise<Html> {
  const { message, wallet } = await readUsableChallenge(pool, pending, 'sign-in')
  const challenge = { wallet: wallet ?? '', message, nonce: pending, submit: 'Sign in' }
  return html`${signatureForm(challenge, submission)}<p><a href="/sign-in">Use another wallet or
email</a></p>`
}
