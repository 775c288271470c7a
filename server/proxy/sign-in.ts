import type { Pool } from 'pg'
import { canonicalJson } from '../../core/crypto/canonical-json.ts'
import { sha256 } from '../../core/crypto/sha256.ts'
import type { Caller } from '../../core/identity/keys.ts'
import type {
  SignedRequest,
  SignInChallenges,
  SignInRefusal,
} from '../../core/payments/receiving/sign-in-challenges.ts'
import { useSignIn } from '../../core/payments/receiving/use-sign-in.ts'
import type { CallRequest } from './call-types.ts'

export interface SignInDeps {
  readonly pool: Pool
  readonly challenges: SignInChallenges
}

/** Parts of a request that a challenge is bound to. */
export type BoundRequest = Pick<CallRequest, 'url' | 'method' | 'query' | 'body'>

/**
 * Returns the extension of a 402 whose challenge a wallet may sign to spend its credits on this
 * very request; undefined for a request without a URL of its own, as a tool of MCP.
 */
export async function challengeFor(
  { challenges }: SignInDeps,
  request: BoundRequest,
): Promise<object | undefined> {
  if (!request.url().startsWith('http')) return undefined
  return challenges.issue(signedRequestOf(request))
}

/**
 * Finds the caller who signed a challenge, and uses the challenge. Returns the reason if nobody is
 * signed in: the request is then that of an anonymous caller, who may still pay for it.
 * @throws Fault `frozen_key`
 */
export async function signIn(
  { pool, challenges }: SignInDeps,
  header: string,
  request: BoundRequest,
): Promise<Caller | SignInRefusal | 'no_account'> {
  const verified = await challenges.verify(header, signedRequestOf(request))
  if (typeof verified === 'string') return verified
  const caller = await useSignIn(pool, verified)
  return caller === 'used' ? 'invalid_siwx_nonce' : caller
}

const signedRequestOf = ({ url, method, query, body }: BoundRequest): SignedRequest => ({
  url: url(),
  digest: sha256(canonicalJson([method, query, body])),
})
