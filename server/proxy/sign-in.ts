import type { Pool } from 'pg'
import { canonicalJson } from '../../core/crypto/canonical-json.ts'
import { sha256 } from '../../core/crypto/sha256.ts'
import type {
  SignedRequest,
  SignInChallenges,
  SignInRefusal,
} from '../../core/payments/receiving/sign-in-challenges.ts'
import { useSignIn } from '../../core/payments/receiving/use-sign-in.ts'
import type { CallRequest, SignedInCaller } from './call-types.ts'

export interface SignInDeps {
  readonly pool: Pool
  readonly challenges: SignInChallenges
}

/** Parts of a request that a challenge is bound to. */
export type BoundRequest = Pick<
  CallRequest,
  | 'url'
  | 'signInUrl'
  | 'slug'
  | 'method'
  | 'path'
  | 'query'
  | 'body'
  | 'maxPrice'
  | 'quoteId'
  | 'acceptPayTo'
>

/**
 * Returns the extension of a 402 whose challenge a wallet may sign to spend its credits on this
 * very request.
 * @param maximum highest price that may be charged, in microdollars
 */
export const challengeFor = (
  { challenges }: Pick<SignInDeps, 'challenges'>,
  request: BoundRequest,
  maximum: bigint,
): Promise<object> => challenges.issue(signedRequestOf(request), maximum)

/**
 * Finds the caller who signed a challenge, and uses the challenge. Returns the reason if nobody is
 * signed in: the request is then that of an anonymous caller, who may still pay for it.
 * @throws Fault `frozen_key`
 */
export async function signIn(
  { pool, challenges }: SignInDeps,
  header: string,
  request: BoundRequest,
): Promise<SignedInCaller | SignInRefusal | 'no_account'> {
  const verified = await challenges.verify(header, signedRequestOf(request))
  if (typeof verified === 'string') return verified
  const caller = await useSignIn(pool, verified)
  if (caller === 'used') return 'invalid_siwx_nonce'
  return caller === 'no_account' ? caller : { ...caller, signedMaximum: verified.maximum }
}

/**
 * Returns true if a challenge can be signed for the request: one with a key is that key's. A tool
 * of MCP, where every message has a key, is an exception.
 */
export const acceptsSignIn = ({
  authorization,
  signInUrl,
}: Pick<CallRequest, 'authorization' | 'signInUrl'>): boolean =>
  authorization === undefined || signInUrl !== undefined

function signedRequestOf(request: BoundRequest): SignedRequest {
  const { url, signInUrl = url, slug, method, path, query, body } = request
  const { maxPrice, quoteId, acceptPayTo } = request
  const terms = [maxPrice === undefined ? undefined : String(maxPrice), quoteId, acceptPayTo]
  return {
    url: signInUrl(),
    digest: sha256(canonicalJson([url(), slug, method, path, query, body, terms])),
  }
}
